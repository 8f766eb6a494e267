import { describe, expect, it } from 'vitest';
import { daemonArgv } from '@nodepool/daemon';
import { COMMAND_LINE, parseArguments } from './arguments.js';

const parse = (argv: readonly string[]) => parseArguments(argv, { home: '/home/u', cwd: '/srv', version: '1.2.3' });

/** Each option of the command line, with a value that is not its default. */
const OPTIONS = {
  configFile: ['-c', 'a b.yaml'],
  secureFile: ['-s', '~/secure.yaml'],
  logConfigFile: ['-l', 'log.yaml'],
  pidFile: ['-p', 'n.pid'],
  foreground: ['-f'],
  debug: ['-d'],
  webapp: ['--no-webapp'],
  stateDir: ['--state-dir', 'state'],
  drainTimeoutMs: ['--drain-timeout', '1.5'],
  announceLegacy: ['--announce-legacy'],
};

async function repeated(argv: readonly string[]) {
  const first = await parse(argv);
  if ('print' in first) throw new Error('nothing is to be printed here');
  return { first, second: await parse(daemonArgv(COMMAND_LINE, first)) };
}

describe('the command line of the detached process', () => {
  it.each(Object.entries(OPTIONS))('says %s again', async (name, argv) => {
    const { first, second } = await repeated(argv);

    expect(first).not.toHaveProperty(name, (await repeated([])).first[name as keyof typeof OPTIONS]);
    expect(second).toEqual(first);
  });

  it('says all options at once again, and this test knows every option', async () => {
    const { first, second } = await repeated(Object.values(OPTIONS).flat());

    expect(second).toEqual(first);
    expect(Object.keys(OPTIONS).sort()).toEqual(Object.keys(first).sort());
  });
});
