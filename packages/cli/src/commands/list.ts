import { extendedNodeListing, nodeListing } from '@nodepool/core/service';
import { describeControl } from '@nodepool/zk-protocol';
import { defineCommand, flag } from '../command/command.js';
import { inform, type CliContext } from '../command/context.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchControls } from '../connection/fetch-controls.js';
import { fetchNodeRows } from '../connection/fetch-records.js';
import { printListing } from '../terminal/output.js';
import { UsageError } from '../command/usage-error.js';
import { findServerOrSocket, NAME_SERVER } from '../connection/local-server.js';
import { findServer, withServer, type Server, type ServerArguments } from '../connection/server.js';
import { leaseListing } from '../lease/lease-listing.js';
import { DETAIL, SERVER_OPTIONS, serverArguments } from './shared-options.js';

/** `nodepool list`. */
export const command = defineCommand({
  options: {
    detail: DETAIL,
    mine: { type: 'boolean', default: false, describe: 'list own leases' },
    ...SERVER_OPTIONS,
  },
  reads: true,
  parse: (values) => ({
    detail: flag(values, 'detail'),
    isMine: flag(values, 'mine'),
    server: serverArguments(values),
  }),
  run: list,
});

/** Arguments of `nodepool list`. */
interface ListArguments {
  readonly detail: boolean;
  readonly isMine: boolean;
  readonly server: ServerArguments;
}

/** `nodepool list --mine`: own leases that are not over. */
async function listLeases(context: CliContext, server: Server, detail: boolean): Promise<void> {
  const leases = await withServer(server, context, (client) => client.list());
  printListing(context, leaseListing, leases, { detail });
}

/** `nodepool list`: all nodes and, on a terminal, the orders of operators in force. */
async function list(context: CliContext, args: ListArguments): Promise<void> {
  const server = await (args.isMine ? findServerOrSocket : findServer)(context, args.server);
  if (args.isMine) {
    if (!server) throw new UsageError(`--mine needs a server: ${NAME_SERVER}`);
    return listLeases(context, server, args.detail);
  }
  if (args.server.url !== undefined) throw new UsageError('list --server lists leases: add --mine');
  const [rows, controls] = await withZooKeeper(context, (zk) => {
    const source = { ...context, zk };
    return Promise.all([fetchNodeRows(source), process.stdout.isTTY ? fetchControls(source) : []]);
  });
  const listing = context.options.format !== 'table' || context.options.fields ? extendedNodeListing : nodeListing;
  printListing(context, listing, rows, { detail: args.detail });
  for (const control of controls) inform(`The ${control.kind} ${control.name} is ${describeControl(control)}`);
}
