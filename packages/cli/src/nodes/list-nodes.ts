import { extendedNodeListing, nodeListing } from '@nodepool/core/service';
import { withZooKeeper } from '../connection/connection.js';
import type { CliContext } from '../command/context.js';
import { printListing } from '../terminal/output.js';
import { fetchNodeRows } from '../connection/fetch-records.js';

/** `nodepool list`: all nodes. */
export async function list(context: CliContext, args: { detail: boolean }): Promise<void> {
  const rows = await withZooKeeper(context, (zk) => fetchNodeRows({ ...context, zk }));
  const listing = context.options.format !== 'table' || context.options.fields ? extendedNodeListing : nodeListing;
  printListing(context, listing, rows, { detail: args.detail });
}
