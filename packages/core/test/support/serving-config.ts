import type { JsonObject } from '@nodepool/zk-protocol';
import type { DriverRegistry } from '../../src/config/index.js';
import type { Config } from '../../src/contract/config.js';
import type { Driver, LaunchOrder, LaunchResult, Provider } from '../../src/contract/driver.js';
import type { PoolConfig } from '../../src/contract/provider-config.js';
import { idleProvider } from './idle-provider.js';
import { standbyConfig } from './launcher-rooms.js';
import { plainDriver, registryOf } from './plain-driver.js';
import { rackProvider } from './rack-world.js';

/** Provider `p` with these pools. */
export function configOf(...pools: PoolConfig[]): Config {
  const named = new Map(pools.map((pool) => [pool.name, pool]));
  const entry = {
    pools: pools.map(({ labels, ...pool }) => ({ ...pool, labels: [...labels.keys()] })) as unknown as JsonObject[],
  };
  return { ...standbyConfig, providers: new Map([['p', { ...rackProvider, name: 'p', entry, pools: named }]]) };
}

/**
 * Drivers whose nodes are ready at once and whose requests wait for capacity, with the given changes.
 * @param launching - promise that launches wait for, and a list that gets their orders
 */
export function servingDrivers(
  launching: { until?: Promise<void> | undefined; orders?: LaunchOrder[] | undefined } = {},
  changes: Partial<Provider> = {},
  able: Partial<Driver['capabilities']> = {},
): DriverRegistry {
  const launch = async (order: LaunchOrder): Promise<LaunchResult> => {
    launching.orders?.push(order);
    await launching.until;
    return { state: 'ready', node: await order.store({ state: 'ready', externalId: `i-${order.node.id}` }) };
  };
  const getRequestHandler = () => ({ imagesAvailable: () => true, launch });
  const capabilities = { launches: true, pausesAtQuota: true, managesImages: false, ...able };
  const getProvider: Driver['getProvider'] = (config) => idleProvider(config, { getRequestHandler, ...changes });
  return registryOf(plainDriver('idle', { capabilities, getProvider }));
}
