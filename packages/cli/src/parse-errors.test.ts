import { expect, it } from 'vitest';
import { UsageError } from './command/usage-error.js';
import { parseCommandLine } from './parser.js';

const parse = (...argv: string[]) => parseCommandLine(argv, '1.2.3');

it('suggests the command that was meant', async () => {
  await expect(parse('lits')).rejects.toThrow('unknown command lits, did you mean list?');
  await expect(parse('request-lst')).rejects.toThrow('did you mean request-list?');
});

it.each([
  [['list', '--fromat', 'json'], 'unknown option --fromat, did you mean --format?'],
  [['hold', '1', '--extned', '1h'], 'unknown option --extned, did you mean --extend?'],
  [['list', '--no-heeders'], 'unknown option --no-heeders, did you mean --no-headers?'],
  [['-C', 'x.yaml', 'list'], 'unknown option -C, did you mean -c?'],
  [['list', '--colour'], 'unknown option --colour'],
  [['--detial', 'list'], 'unknown option --detial, did you mean --detail?'],
  [['list', 'what'], 'list takes no further argument, got "what"'],
  [['list', '--format', 'xml'], '--format must be one of table, json, yaml, csv, got "xml"'],
  [['list', '--fields'], '--fields needs a value'],
  [['image-delete', '--image', 'a'], 'image-delete needs --provider, --build-id, --upload-id'],
  [['provider', 'stop', 'rack'], 'action must be one of pause, resume, drain, limit, got "stop"'],
  [['hold'], 'hold needs ID'],
  [['ssh', 'small', 'uname', '-a'], 'write the command after --: nodepool ssh small -- uname -a'],
  [['run', 'small', 'uname', '-a'], 'write the command after --: nodepool run small -- uname -a'],
  [
    ['run', 'small', '--timeout', '60', 'make', '-j4'],
    'write the command after --: nodepool run small --timeout 60 -- make -j4',
  ],
  [['run', 'small', 'uname'], 'run needs a command: nodepool run small -- uname'],
  [['run', 'small'], 'run needs a command: nodepool run LABEL... -- COMMAND ARGS'],
  [['ssh', 'small', 'echo', 'a b'], "write the command after --: nodepool ssh small -- echo 'a b'"],
  [['ssh', 'small', 'uname', '--', '-a'], 'ssh takes no further argument, got "uname"'],
  [['frobnicate'], 'unknown command frobnicate'],
])('says what of %j is wrong, and what may have been meant', async (argv, message) => {
  await expect(parse(...argv)).rejects.toThrow(new UsageError(message));
});

it.each([
  [['delete', ''], 'delete needs ID, got an empty argument: is a shell variable unset?'],
  [['request', 'small', ''], 'request needs LABEL..., got an empty argument: is a shell variable unset?'],
  [['explain', ''], 'explain needs [REQUEST], got an empty argument: is a shell variable unset?'],
  [['pool', 'pause', ''], 'pool needs ACTION NAME [NODES], got an empty argument: is a shell variable unset?'],
  [['list', '-c', ''], '-c needs a value'],
  [['list', '--state-dir='], '--state-dir needs a value'],
  [['hosts', '--url', ''], '--url needs a value'],
  [['replay', '-c', 'x', '--also', ''], '--also needs a value'],
])('says what is missing where a word is empty: %j', async (argv, text) => {
  await expect(parse(...argv)).rejects.toEqual(new UsageError(text));
});

it.each([
  ['hold', '0000000042', '--reason', ''],
  ['run', 'small', '--', 'echo', ''],
  ['list', '--watch'],
])('takes an empty word where it says something: %s', async (...argv) => {
  await expect(parse(...argv)).resolves.toMatchObject({ kind: 'command' });
});
