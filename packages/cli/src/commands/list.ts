import { extendedNodeListing, nodeListing } from '@nodepool/core/listing';
import { withZooKeeper } from '../connection.js';
import { printListing } from '../context.js';
import type { CliContext } from '../context.js';
import { fetchNodeRows } from '../fetch-records.js';

/** `nodepool list`: all nodes. */
export async function list(context: CliContext, args: { detail: boolean }): Promise<void> {
  const rows = await withZooKeeper(context, (zk) => fetchNodeRows({ ...context, zk }));
  const listing = context.options.format === 'json' ? extendedNodeListing : nodeListing;
  printListing(context, listing, rows, { detail: args.detail });
}
