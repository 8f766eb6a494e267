import { labelSupplyListing, supplyOfLabels } from '@nodepool/core/service';
import { isPoolComponent } from '@nodepool/zk-protocol';
import { NO_ARGUMENTS, defineCommand } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { fetchConditions } from '../conditions/fetch-conditions.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchComponents, fetchNodeRows, fetchRequests } from '../connection/fetch-records.js';
import { printListing } from '../terminal/output.js';

/** `nodepool labels`. */
export const command = defineCommand({
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: labels,
});

/** `nodepool labels`: labels that can be requested, with numbers of nodes and waiting requests. */
async function labels(context: CliContext): Promise<void> {
  const [components, nodes, requests, conditions] = await withZooKeeper(context, (zk) => {
    const source = { ...context, zk };
    return Promise.all([
      fetchComponents(source, 'pool'),
      fetchNodeRows(source),
      fetchRequests(source),
      fetchConditions(source),
    ]);
  });
  printListing(
    context,
    labelSupplyListing,
    supplyOfLabels({ pools: components.filter(isPoolComponent), nodes, requests, conditions }),
  );
}
