import { describe, expect, it } from 'vitest';
import { parseCommand, UsageError } from './arguments.js';

describe('the command line of the fake cloud', () => {
  it.each([
    [['set', 'quota.instances', '-1'], -1],
    [['--dir', '/cloud', 'set', 'quota.instances', '-5'], -5],
    [['set', 'quota.instances', '-.5'], '-.5'],
    [['set', 'failures.quota', '0.2'], 0.2],
    [['set', 'ssh.host-keys', 'per-instance'], 'per-instance'],
  ])('%j sets what it says', (args, value) => {
    expect(parseCommand(args)).toMatchObject({ name: 'set', value });
  });

  it.each([
    [['set', 'quota.instances', '-x'], /-x/],
    [['serve', '--idle-timeout', '-5'], /idle-timeout/],
    [['hide', 'i-1', '-5'], /"-5" is not a number of seconds/],
    [['set', 'quota.instances'], /needs 1 more/],
  ])('%j is refused', (args, message) => {
    expect(() => parseCommand(args)).toThrow(message);
    expect(() => parseCommand(args)).toThrow(UsageError);
  });
});
