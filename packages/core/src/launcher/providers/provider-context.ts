import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { ProviderContext } from '../../contract/driver.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import type { Steered } from '../plan/steering.js';
import type { Context } from '../state/context.js';
import { withdrawNode } from '../state/expire-node.js';
import type { ImageMirror } from '../state/image-mirror.js';
import { renewLogin } from '../state/renew-login.js';
import { madeMs } from '../state/server-clock.js';
import { outOfDriverScope } from './guard/driver-scope.js';

/** What uses the capacity of providers. */
export interface CapacityUsers {
  /**
   * Capacity that no record shows has changed.
   * @param pool - `undefined`: in all pools of the provider
   */
  capacityChanged(provider: string, pool?: string): void;
}

/** What a provider gets from the launcher. */
export interface ProviderSources {
  readonly context: Context;
  readonly images: ImageMirror;
  readonly steering: Steered;
  readonly users: CapacityUsers;
}

/**
 * The launcher as a driver sees it. The launcher's own code that a driver calls runs outside of the driver's scope.
 * @param closing - aborted when the provider ends
 */
export function contextFor(
  { context, images, steering, users }: ProviderSources,
  { name, driverName }: ProviderConfig,
  closing: AbortSignal,
): ProviderContext {
  const { zk, clock, committer, mirror, hostname, logger, random, metrics, events, life, serverClock } = context;
  return {
    ...{ zk, clock, committer, hostname, random, metrics, closing },
    agreedNow: serverClock && (() => serverClock.now()),
    madeMs: serverClock && ((record) => madeMs(record, serverClock)),
    get databaseId() {
      return life.databaseId;
    },
    ...{ images, nodes: mirror.nodes, requests: mirror.requests },
    logger: logger.child({ provider: name }, LOGGER_NAMES.driver(driverName)),
    config: () => context.config.now,
    ownNodes: () => mirror.ofProvider(name),
    capacityChanged: (pool) => outOfDriverScope(() => users.capacityChanged(name, pool)),
    withdrawNode: (id, why) => outOfDriverScope(() => withdrawNode(context, name, id, why)),
    renewLogin: (id, port) => outOfDriverScope(() => renewLogin(context, name, id, port)),
    nodeUnusable: (id, why) => outOfDriverScope(() => events.emit('nodeUnusable', { id, why })),
    onNodeUnusable: (listener) => events.on('nodeUnusable', ({ id, why }) => listener(id, why)),
    avoidsZone: (zone, label) => steering.of(name)?.avoidsZone(zone, label) ?? false,
    apiAnswered: (error) => outOfDriverScope(() => steering.of(name)?.apiAnswered(error)),
  };
}
