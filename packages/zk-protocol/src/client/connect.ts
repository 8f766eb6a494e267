import stock from 'node-zookeeper-client';
import { patientClock, type Clock } from '../base/clock.js';
import { systemLookup, type Lookup, type OpenStream } from './dial.js';
import { ZooKeeperError } from './contract/errors.js';
import { silentZooKeeperLogger, type ZooKeeperLogger } from '../base/logger.js';
import type { ServerAddress } from './contract/types.js';
import { parseConnectString, toEnsemble } from './servers.js';
import { loadTls, type ZooKeeperTlsOptions } from './tls.js';
import { StateListeners } from './state-listeners.js';
import { Transport } from './transport.js';
import type { Acl, ZooKeeperConnection } from './contract/types.js';
import { WatchRegistry } from './watches.js';
import { ZooKeeperClient } from './zookeeper-client.js';

/** Settings of a ZooKeeper client. */
export interface ZooKeeperOptions {
  /** The ensemble: a list, or a connect string such as `h1:2181,[::1]:2182/chroot`. */
  servers: readonly ServerAddress[] | string;
  /** Client certificate; `undefined` connects without TLS. */
  tls?: ZooKeeperTlsOptions | undefined;
  /** Credentials sent on every connection, e.g. `{ scheme: 'digest', auth: 'user:password' }`. */
  auth?: readonly { scheme: string; auth: string | Buffer }[] | undefined;
  /** Requested timeout; the server may grant another. @default 10000 */
  sessionTimeoutMs?: number | undefined;
  /**
   * How long the client keeps a session beyond its timeout without a reply, in milliseconds. Only for a standalone server:
   * no other server can end the session, and it cannot while it is paused. @default 0
   */
  serverPauseMs?: number | undefined;
  /**
   * @default a monotonic system clock whose timers keep the process alive, so that a command that waits for ZooKeeper does
   *   not end silently
   */
  clock?: Clock | undefined;
  /** @default none */
  logger?: ZooKeeperLogger | undefined;
  /** Limit of unanswered requests; one more is rejected with `ZK_BACKLOG_FULL`. @default 50000 */
  maxBacklog?: number | undefined;
  /** Largest request, in bytes; the server disconnects on a larger one (`jute.maxbuffer`). @default 1048575 */
  maxRequestBytes?: number | undefined;
  /** ACL of creates without one. @default world:anyone with all permissions */
  defaultAcl?: readonly Acl[] | undefined;
  /** Numbers in [0, 1) for server order and back-off. @default Math.random */
  random?: (() => number) | undefined;
  /** Name resolution. @default that of the operating system */
  lookup?: Lookup | undefined;
  /** Opens connections, in place of TCP and TLS; `servers` then only appear in log lines. */
  open?: OpenStream | undefined;
}

/** Full access for everyone, as in Nodepool. */
export const openAcl: readonly Acl[] = stock.ACL.OPEN_ACL_UNSAFE.map(({ permission, id }) => ({
  permissions: permission,
  scheme: id.scheme,
  id: id.id,
}));

const DEFAULT_SESSION_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BACKLOG = 50_000;
const DEFAULT_MAX_REQUEST_BYTES = 0xf_ffff;

/** Monotonic time, and timers that keep the process alive. */
const steadyClock: Clock = {
  now: () => performance.now(),
  setTimer: (ms, fn) => patientClock.setTimer(ms, fn),
};

/**
 * Creates a client, which connects and reconnects until it is closed. An open client keeps the process alive.
 * @throws ZK_BAD_ARGUMENTS for invalid servers, TLS files or numbers
 */
export function createZooKeeper(options: ZooKeeperOptions): ZooKeeperConnection {
  return startClient(options);
}

/** As {@link createZooKeeper}; with `lastXid`, a test starts near the largest request number. */
export function startClient(options: ZooKeeperOptions, lastXid = 0): ZooKeeperConnection {
  const { tls } = options;
  const ensemble =
    typeof options.servers === 'string'
      ? parseConnectString(options.servers, { tls: tls !== undefined })
      : toEnsemble(options.servers);
  if (tls !== undefined) loadTls(tls);
  const sessionTimeoutMs = positive(options.sessionTimeoutMs ?? DEFAULT_SESSION_TIMEOUT_MS, 'sessionTimeoutMs');
  const logger = options.logger ?? silentZooKeeperLogger;
  const watches = new WatchRegistry();

  const states = new StateListeners((error, state) =>
    logger.error('ZooKeeper state listener failed', { error, state }),
  );
  const transport = new Transport({
    servers: ensemble.servers,
    chroot: ensemble.chroot,
    tls: () => (tls === undefined ? undefined : loadTls(tls)),
    sessionTimeoutMs,
    clock: options.clock ?? steadyClock,
    logger,
    maxBacklog: positive(options.maxBacklog ?? DEFAULT_MAX_BACKLOG, 'maxBacklog'),
    maxRequestBytes: positive(options.maxRequestBytes ?? DEFAULT_MAX_REQUEST_BYTES, 'maxRequestBytes'),
    serverPauseMs: options.serverPauseMs ?? 0,
    random: options.random ?? Math.random,
    lookup: options.lookup ?? systemLookup,
    open: options.open,
    ...{ watches, lastXid, states },
  });
  const client = new ZooKeeperClient({
    states,
    transport,
    watches,
    chroot: ensemble.chroot,
    defaultAcl: options.defaultAcl ?? openAcl,
  });
  for (const { scheme, auth } of options.auth ?? []) transport.addAuthInfo(scheme, Buffer.from(auth));
  transport.connect();
  return client;
}

/**
 * As {@link createZooKeeper}, and waits until it is connected. An abort ends the wait and closes the client.
 */
export async function connect(options: ZooKeeperOptions, signal?: AbortSignal): Promise<ZooKeeperConnection> {
  const client = createZooKeeper(options);
  try {
    await client.whenConnected(signal);
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}

function positive(value: number, name: string): number {
  if (Number.isInteger(value) && value > 0) return value;
  throw new ZooKeeperError('ZK_BAD_ARGUMENTS', `ZooKeeper option ${name} is ${value}: expected a positive integer`);
}
