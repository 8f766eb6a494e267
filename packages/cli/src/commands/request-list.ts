import { requestListing } from '@nodepool/core/listing';
import { withZooKeeper } from '../connection.js';
import { printListing } from '../context.js';
import type { CliContext } from '../context.js';
import { fetchRequests } from '../fetch-records.js';

/** `nodepool request-list`: all requests; with `--detail` also their age and why pools left them alone. */
export async function requestList(context: CliContext, args: { detail: boolean }): Promise<void> {
  const requests = await withZooKeeper(context, (zk) => fetchRequests({ ...context, zk }));
  printListing(context, requestListing, requests, { detail: args.detail });
}
