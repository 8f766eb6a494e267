import { requestListing } from '@nodepool/core/service';
import type { Listing } from '@nodepool/core/service';
import type { RequestRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, flag } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { fetchRequests } from '../connection/fetch-records.js';
import { findLauncherUrls } from '../connection/find-launchers.js';
import { explainWaiting } from '../explain/explain-waiting.js';
import { printListing } from '../terminal/output.js';
import { DETAIL } from './shared-options.js';

/** `nodepool request-list`. */
export const command = defineCommand({
  options: { detail: DETAIL },
  reads: true,
  parse: (values) => ({ detail: flag(values, 'detail') }),
  run: requestList,
});

/**
 * `nodepool request-list`: all requests; with `--detail` also their age, why pools declined them, and what they wait for, if
 * launchers answer.
 */
async function requestList(context: CliContext, args: { detail: boolean }): Promise<void> {
  const [requests, waits] = await withZooKeeper(context, async (zk) => {
    const found = await fetchRequests({ ...context, zk });
    return [found, args.detail ? await askWhy(context, zk, found) : NO_WAITS] as const;
  });
  const listing = waits.size > 0 ? withWaits(waits) : requestListing;
  printListing(context, listing, requests, { detail: args.detail });
}

const NO_WAITS: ReadonlyMap<string, string> = new Map();

async function askWhy(
  context: CliContext,
  zk: ZooKeeper,
  requests: readonly RequestRecord[],
): Promise<ReadonlyMap<string, string>> {
  const config = await loadIfPresent(context);
  return explainWaiting(await findLauncherUrls({ ...context, zk }, config?.webapp), requests, context.clock);
}

function withWaits(waits: ReadonlyMap<string, string>): Listing<RequestRecord> {
  const value = ({ id }: RequestRecord) => waits.get(id) ?? null;
  return [...requestListing, { key: 'waits_for', header: 'Waits For', level: 'detail', value }];
}
