import { defineCommand, texts } from '../command/command.js';
import { UsageError } from '../command/usage-error.js';
import { ACQUIRE_OPTIONS, acquireArguments, HOLD_ON_FAILURE, holdOnFailureMs, LABELS } from './shared-options.js';

/** `nodepool run`. */
export const runCommand = defineCommand({
  name: 'run',
  usage: '<labels..>',
  summary: 'run a command of this computer with nodes in its environment: nodepool run LABEL... -- COMMAND ARGS',
  positionals: { labels: LABELS },
  options: { ...ACQUIRE_OPTIONS, ...HOLD_ON_FAILURE },
  takesRest: true,
  takesLabels: true,
  parse(values) {
    const command = texts(values, '--');
    if (command.length === 0) throw new UsageError('run needs a command: nodepool run LABEL... -- COMMAND ARGS');
    return { command, holdMs: holdOnFailureMs(values), ...acquireArguments(values) };
  },
  run: async (context, args) => (await import('../run/run-command.js')).run(context, args),
});
