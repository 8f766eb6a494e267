import { defineCommand, flag } from '../command/command.js';
import { DETAIL } from './shared-options.js';

/** `nodepool request-list`. */
export const requestListCommand = defineCommand({
  name: 'request-list',
  summary: 'list node requests',
  options: { detail: DETAIL },
  reads: true,
  parse: (values) => ({ detail: flag(values, 'detail') }),
  run: async (context, args) => (await import('../requests/list-requests.js')).requestList(context, args),
});
