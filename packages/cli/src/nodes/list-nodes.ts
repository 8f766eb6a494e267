import { describeControl } from '@nodepool/zk-protocol';
import { extendedNodeListing, nodeListing } from '@nodepool/core/service';
import { withZooKeeper } from '../connection/connection.js';
import { tell } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { printListing } from '../terminal/output.js';
import { fetchControls } from '../connection/fetch-controls.js';
import { fetchNodeRows } from '../connection/fetch-records.js';

/** `nodepool list`: all nodes; below them, for a person at a terminal, what operators have taken out. */
export async function list(context: CliContext, args: { detail: boolean }): Promise<void> {
  const [rows, controls] = await withZooKeeper(context, (zk) => {
    const source = { ...context, zk };
    return Promise.all([fetchNodeRows(source), process.stdout.isTTY ? fetchControls(source) : []]);
  });
  const listing = context.options.format !== 'table' || context.options.fields ? extendedNodeListing : nodeListing;
  printListing(context, listing, rows, { detail: args.detail });
  for (const control of controls) tell(`The ${control.kind} ${control.name} is ${describeControl(control)}`);
}
