import type { Driver } from '@nodepool/core';
import type { NodeEntry } from '@nodepool/core/testing';
import { nodePath, type NodeId } from '@nodepool/zk-protocol';
import { Violation } from './violation.js';
import type { Limit } from './limit.js';
import type { World } from './world.js';

/** A pool with a limit. */
export interface LimitedPool {
  readonly maxServers: Limit;
}

/** Checks each new node against `max-servers` of its pool. A launcher that starts cannot count nodes whose records are spoiled. */
export function checkMaxServers(
  world: World,
  provider: string,
  poolOf: (pool: string) => LimitedPool | undefined,
): void {
  world.checker.watch((before, after, who) => {
    const pool = after.body['pool'];
    if (before !== undefined || after.body['provider'] !== provider || typeof pool !== 'string') return;
    if (world.lateRecords.has(nodePath(after.id as NodeId))) return;
    const limited = poolOf(pool);
    if (limited === undefined) return;
    const { maxServers } = limited;
    const isCounted = ({ body }: NodeEntry) => body['provider'] === provider && body['pool'] === pool;
    const count = countNodes(world, isCounted);
    demand(world, count, maxServers.most * world.launcherCount, `${who} makes node ${after.id} in ${provider}/${pool}`);
  });
}

/**
 * Wraps drivers for one launcher to check each launch against `max-concurrency` of its provider, over all pools and across
 * reloads, those that are taken over too.
 * @param launcher - `launching` gets the ids of nodes that are being launched
 */
export function withCheckedLaunches(
  world: World,
  drivers: ReadonlyMap<string, Driver>,
  { name, launching }: { readonly name: string; readonly launching: Set<string> },
) {
  const active = new Map<string, number>();
  const begin = (provider: string, node: string) => {
    const count = (active.get(provider) ?? 0) + 1;
    active.set(provider, count);
    launching.add(node);
    const limit = world.maxConcurrency.get(provider);
    if (limit) demand(world, count, limit.most, `${name} begins a launch of ${provider}`);
    return () => {
      active.set(provider, (active.get(provider) ?? 0) - 1);
      launching.delete(node);
    };
  };
  return new Map([...drivers].map(([name, driver]) => [name, withLaunches(driver, begin)]));
}

/** @param begin - called at the start of a launch; returns a function to call at its end */
function withLaunches(driver: Driver, begin: (provider: string, node: string) => () => void): Driver {
  return {
    ...driver,
    getProvider: (config, context) => {
      const provider = driver.getProvider(config, context);
      const getRequestHandler = provider.getRequestHandler.bind(provider);
      provider.getRequestHandler = (pool, request) => {
        const handler = getRequestHandler(pool, request);
        const launch = handler.launch?.bind(handler);
        if (!launch) return handler;
        handler.launch = (order, signal) => {
          const end = begin(config.name, order.node.id);
          return launch(order, signal).finally(end);
        };
        return handler;
      };
      return provider;
    },
  };
}

/** Checks each node allocated to a tenant with a limit. */
export function checkTenantLimit(world: World, tenant: string, limit: number): void {
  const isOfTenant = ({ body }: NodeEntry) => body['tenant_name'] === tenant;
  world.checker.watch((before, after, who) => {
    if (!isOfTenant(after) || (before !== undefined && isOfTenant(before))) return;
    const doing = `${who} gives node ${after.id} to tenant ${tenant}`;
    demand(world, countNodes(world, isOfTenant), limit * world.launcherCount, doing);
  });
}

/** Nodes with readable records that living launchers made. */
function countNodes({ checker, spoiled, lateRecords }: World, isCounted: (node: NodeEntry) => boolean): number {
  let count = 0;
  for (const node of checker.nodes.values()) {
    const path = nodePath(node.id as NodeId);
    if (isCounted(node) && !spoiled.has(path) && !lateRecords.has(path)) count++;
  }
  return count;
}

function demand(world: World, count: number, most: number, doing: string): void {
  if (count > most) world.violate(new Violation(`${doing}, number ${count} of at most ${most}`));
}
