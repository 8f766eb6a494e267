import { extendedNodeListing, nodeListing } from '@nodepool/core/service';
import { describeControl } from '@nodepool/zk-protocol';
import { defineCommand, flag } from '../command/command.js';
import { tell } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchControls } from '../connection/fetch-controls.js';
import { fetchNodeRows } from '../connection/fetch-records.js';
import { printListing } from '../terminal/output.js';
import { DETAIL } from './shared-options.js';

/** `nodepool list`. */
export const command = defineCommand({
  options: { detail: DETAIL },
  reads: true,
  parse: (values) => ({ detail: flag(values, 'detail') }),
  run: list,
});

/** `nodepool list`: all nodes and, on a terminal, the orders of operators in force. */
async function list(context: CliContext, args: { detail: boolean }): Promise<void> {
  const [rows, controls] = await withZooKeeper(context, (zk) => {
    const source = { ...context, zk };
    return Promise.all([fetchNodeRows(source), process.stdout.isTTY ? fetchControls(source) : []]);
  });
  const listing = context.options.format !== 'table' || context.options.fields ? extendedNodeListing : nodeListing;
  printListing(context, listing, rows, { detail: args.detail });
  for (const control of controls) tell(`The ${control.kind} ${control.name} is ${describeControl(control)}`);
}
