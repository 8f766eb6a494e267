import { defineCommand, text } from '../command/command.js';
import { parseDuration } from '../command/duration.js';
import { ACQUIRE_OPTIONS, acquireArguments, LABELS } from './shared-options.js';

/** `nodepool request`. */
export const requestCommand = defineCommand({
  name: 'request',
  usage: '<labels..>',
  summary: 'take nodes and keep them until Ctrl-C',
  positionals: { labels: LABELS },
  options: {
    ...ACQUIRE_OPTIONS,
    'hold-for': { type: 'string', requiresArg: true, value: 'TIME', describe: 'return the nodes after this time' },
  },
  takesLabels: true,
  parse(values) {
    const holdFor = text(values, 'hold-for');
    const holdForMs = holdFor === undefined ? undefined : parseDuration(holdFor, '--hold-for');
    return { holdForMs, ...acquireArguments(values) };
  },
  run: async (context, args) => (await import('../lease/hold-nodes.js')).request(context, args),
});
