import { defineCommand, text } from '../command/command.js';
import { DEFAULT_CONFIG } from '../command/global-options.js';
import { UsageError } from '../command/usage-error.js';

/** `nodepool plan`. */
export const planCommand = defineCommand({
  name: 'plan',
  summary: 'say what the configuration named by -c would change, without doing it',
  options: {
    current: {
      type: 'string',
      requiresArg: true,
      value: 'FILE',
      describe: `configuration in force [${DEFAULT_CONFIG}]`,
    },
  },
  parse(values) {
    if (text(values, 'c') === undefined) {
      throw new UsageError('plan needs the new configuration: nodepool plan -c FILE');
    }
    return { currentFile: text(values, 'current') };
  },
  run: async (context, args) => (await import('../configuration/plan-change.js')).plan(context, args),
});
