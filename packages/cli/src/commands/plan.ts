import { defineCommand, flag, text } from '../command/command.js';
import { DEFAULT_CONFIG } from '../command/global-options.js';
import { UsageError } from '../command/usage-error.js';

/** `nodepool plan`. */
export const planCommand = defineCommand({
  name: 'plan',
  summary: 'say what the configuration named by -c would change, without doing it',
  options: {
    offline: { type: 'boolean', default: false, describe: 'compare the two files, without ZooKeeper, as for a review' },
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
    const [currentFile, offline] = [text(values, 'current'), flag(values, 'offline')];
    if (offline && currentFile === undefined) {
      throw new UsageError('plan --offline needs both files: nodepool plan --offline --current OLD -c NEW');
    }
    return { currentFile, offline };
  },
  run: async (context, args) => (await import('../configuration/plan-change.js')).plan(context, args),
});
