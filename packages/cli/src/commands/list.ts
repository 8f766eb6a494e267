import { defineCommand, flag } from '../command/command.js';
import { DETAIL } from './shared-options.js';

/** `nodepool list`. */
export const listCommand = defineCommand({
  name: 'list',
  summary: 'list nodes',
  options: { detail: DETAIL },
  reads: true,
  parse: (values) => ({ detail: flag(values, 'detail') }),
  run: async (context, args) => (await import('../nodes/list-nodes.js')).list(context, args),
});
