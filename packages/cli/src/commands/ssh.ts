import { defineCommand, text, texts } from '../command/command.js';
import type { Values } from '../command/command.js';
import { UsageError } from '../command/usage-error.js';
import type { SshOptions } from '../ssh/ssh.js';
import { ACQUIRE_OPTIONS, acquireArguments, HOLD_ON_FAILURE, holdOnFailureMs } from './shared-options.js';

const { count: _count, ...ACQUIRE_ONE } = ACQUIRE_OPTIONS;

function parse(values: Values): SshOptions {
  const acquire = acquireArguments({ ...values, labels: [text(values, 'label') ?? ''], count: 1 });
  const command = texts(values, '--');
  const fetch = texts(values, 'fetch');
  if (command.length === 0 && fetch.length > 0)
    throw new UsageError('--fetch needs a command: nodepool ssh LABEL -- ...');
  const files = { copy: text(values, 'copy'), fetch, identity: text(values, 'identity') };
  return { ...acquire, ...files, command, holdMs: holdOnFailureMs(values) };
}

/** `nodepool ssh`. */
export const sshCommand = defineCommand({
  name: 'ssh',
  usage: '<label>',
  summary: 'take a node and run a command on it, or log in: nodepool ssh LABEL [-- COMMAND ARGS]',
  positionals: { label: { type: 'string', demandOption: true, describe: 'label of the node' } },
  options: {
    copy: {
      ...{ type: 'string', requiresArg: true, value: 'DIR' },
      describe: 'copy this directory to the node first, and run the command in the copy',
    },
    fetch: {
      ...{ type: 'string', array: true, nargs: 1, requiresArg: true, value: 'PATH' },
      describe: 'copy this file or directory of the node here afterwards; may be repeated',
    },
    identity: {
      ...{ type: 'string', alias: 'i', requiresArg: true, value: 'FILE' },
      describe: 'private key to log in with; default: those of ssh',
    },
    ...ACQUIRE_ONE,
    ...HOLD_ON_FAILURE,
  },
  takesRest: true,
  takesLabels: true,
  parse,
  run: async (context, args) => (await import('../ssh/ssh.js')).ssh(context, args),
});
