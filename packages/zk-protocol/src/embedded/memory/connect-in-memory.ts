import { systemClock, type Clock } from '../../base/clock.js';
import { createZooKeeper } from '../../client/connect.js';
import type { ZooKeeperConnection } from '../../client/contract/types.js';
import type { ZooKeeperLogger } from '../../client/logger.js';
import { type LinkConditions, perfectConditions } from './conditions.js';
import { MemoryLink } from './memory-link.js';
import type { MemoryServer } from './memory-server.js';

/** How a client in memory behaves. */
export interface MemoryOptions {
  /** Time at the client. @default the machine's clock */
  clock?: Clock;
  /** Time on the way and at the server. @default the client's */
  serverClock?: Clock;
  /** @default 10000 */
  sessionTimeoutMs?: number;
  /** @default {@link perfectConditions} */
  conditions?: LinkConditions;
  /** Number in [0, 1). @default Math.random */
  random?: () => number;
  /** @default throws what is logged as an error, and drops the rest */
  logger?: ZooKeeperLogger;
}

/** Listeners must not throw: what they throw is logged as an error. */
const throwing: ZooKeeperLogger = {
  ...{ debug() {}, info() {}, warn() {} },
  error: (message, fields) => {
    throw fields?.['error'] instanceof Error ? fields['error'] : new Error(message);
  },
};

/** The client that ships, on its way to a server in this process. */
export function connectInMemory(
  server: MemoryServer,
  options: MemoryOptions = {},
): { zk: ZooKeeperConnection; link: MemoryLink } {
  const { clock = systemClock, serverClock = clock, conditions = perfectConditions } = options;
  const { sessionTimeoutMs, random, logger = throwing } = options;
  const link = new MemoryLink(server, clock, serverClock, conditions);
  const zk = createZooKeeper({ servers: 'memory', open: link.open, clock, sessionTimeoutMs, random, logger });
  return { zk, link };
}
