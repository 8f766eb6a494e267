import type { RequestId } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';

/** `nodepool cancel`. */
export const cancelCommand = defineCommand({
  name: 'cancel',
  usage: '<request>',
  summary: 'take a request back; nodes allocated to it become free',
  positionals: { request: { type: 'string', demandOption: true, describe: 'id of the request' } },
  parse: (values) => ({ id: (text(values, 'request') ?? '') as RequestId }),
  run: async (context, { id }) => (await import('../requests/cancel-request.js')).cancelRequest(context, id),
});
