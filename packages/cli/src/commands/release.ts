import { RefusedError } from '@nodepool/client';
import { defineCommand, texts } from '../command/command.js';
import { inform, type CliContext } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { findServerOrSocket, NAME_SERVER } from '../connection/local-server.js';
import { serverError, withServer, type ServerArguments } from '../connection/server.js';
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

/**
 * `nodepool release`: returns the nodes of leases, or ends their wait. An unknown id does not stop the rest.
 * @throws CliError one could not be returned
 */
async function release(context: CliContext, args: { ids: readonly string[]; server: ServerArguments }): Promise<void> {
  const server = await findServerOrSocket(context, args.server);
  if (!server) throw new UsageError(`release needs a server: ${NAME_SERVER}`);
  const unknown: string[] = [];
  await withServer(server, context, async (client) => {
    for (const [done, id] of args.ids.entries()) {
      try {
        const { endReason } = await client.release(id);
        inform(`Lease ${id} is over: ${endReason ?? 'returned'}`);
      } catch (error) {
        if (error instanceof RefusedError && error.status === 404) unknown.push(error.message);
        else throw unreturned(error, args.ids.slice(done));
      }
    }
  });
  if (unknown.length > 0) throw new CliError(unknown.join('; '));
}

/** Says which leases are left when the server refuses or cannot be reached. */
function unreturned(error: unknown, ids: readonly string[]): unknown {
  if (ids.length === 1) return error;
  return new CliError(`${describeError(serverError(error))}; not returned: ${ids.join(' ')}`, { cause: error });
}
