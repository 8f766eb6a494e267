import {
  createCommitter,
  createNodeCache,
  createRequestCache,
  type Clock,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Config, Logger, ProviderConfig, ProviderContext } from '@nodepool/core';

/** Input of {@link contextFor}. */
export interface ContextSources {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hostname: string;
  readonly random: () => number;
  readonly config: () => Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Id of the database; known before providers are made. */
  readonly databaseId: () => string | undefined;
}

/** Creates the context of a provider in a builder. Its caches stay empty, as a builder serves no requests. */
export function contextFor(context: ContextSources, { name }: ProviderConfig): ProviderContext {
  const { zk, clock, logger, hostname, random, config, env } = context;
  const nodes = createNodeCache({ zk, clock, logger });
  const requests = createRequestCache({ zk, clock, logger });
  return {
    ...{ zk, clock, nodes, requests, hostname, random, config, env },
    databaseId: context.databaseId(),
    logger: logger.child({ provider: name }),
    committer: createCommitter(zk, [nodes, requests]),
    ownNodes: () => [],
    capacityChanged: () => undefined,
  };
}
