import { hostname } from 'node:os';
import { createCommitter, createNodeCache, createRequestCache, readDatabaseId } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import type { Config, Provider, ProviderConfig, ProviderContext } from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import type { CliContext } from '../command/context.js';

/** Connection, configuration and drivers that a provider is made with. */
export interface ProviderInputs {
  readonly zk: ZooKeeper;
  readonly config: Config;
  readonly registry: DriverRegistry;
}

/**
 * Makes a provider for a single call, such as listing images or deleting one instance. It has no nodes or requests, and is not
 * started.
 * @throws DriverError when the driver cannot be used on this machine
 */
export async function makeProvider(
  context: CliContext,
  inputs: ProviderInputs,
  provider: ProviderConfig,
): Promise<Provider> {
  const { zk, config, registry } = inputs;
  const { clock, env } = context;
  const logger = context.logger.child({ provider: provider.name });
  const nodes = createNodeCache({ zk, clock, logger });
  const requests = createRequestCache({ zk, clock, logger });
  const driver = await registry.get(provider.driverName);
  const forDriver: ProviderContext = {
    ...{ zk, clock, nodes, requests, env, logger, hostname: hostname(), random: Math.random },
    databaseId: await readDatabaseId(zk),
    config: () => config,
    committer: createCommitter(zk, [nodes, requests]),
    ownNodes: () => [],
    capacityChanged: () => undefined,
  };
  return driver.getProvider(provider, forDriver);
}
