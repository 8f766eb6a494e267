import { defineCommand, texts } from '../command/command.js';
import { tell, type CliContext } from '../command/context.js';
import { UsageError } from '../command/usage-error.js';
import { findServer, withServer, type ServerArguments } from '../connection/server.js';
import { SERVER_OPTIONS, serverArguments } from './shared-options.js';

/** `nodepool release`. */
export const command = defineCommand({
  positionals: {
    leases: { type: 'string', array: true, demandOption: true, describe: 'ids of leases' },
  },
  options: SERVER_OPTIONS,
  parse: (values) => ({ ids: texts(values, 'leases'), server: serverArguments(values) }),
  run: release,
});

/** `nodepool release`: returns the nodes of leases, or ends their wait. */
async function release(context: CliContext, args: { ids: readonly string[]; server: ServerArguments }): Promise<void> {
  const server = await findServer(context, args.server);
  if (!server) throw new UsageError('release needs a server: --server URL, or NODEPOOL_SERVER');
  await withServer(server, context, async (client) => {
    for (const id of args.ids) {
      const { endReason } = await client.release(id);
      tell(`Lease ${id} is over: ${endReason ?? 'returned'}`);
    }
  });
}
