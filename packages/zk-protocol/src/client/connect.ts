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

/** How to reach ZooKeeper and what to do while it cannot be reached. */
export interface ZooKeeperOptions {
  /** The ensemble: a list, or a connect string such as `h1:2181,[::1]:2182/chroot`. */
  servers: readonly ServerAddress[] | string;
  /** Client certificate; `undefined`: plain text. */
  tls?: ZooKeeperTlsOptions | undefined;
  /** Credentials sent on every connection, e.g. `{ scheme: 'digest', auth: 'user:password' }`. */
  auth?: readonly { scheme: string; auth: string | Buffer }[] | undefined;
  /** Asked for; the server may grant another. @default 10000 */
  sessionTimeoutMs?: number | undefined;
  /**
   * How long a session may outlive its timeout without an answer before the client gives it up, in milliseconds. Only for a
   * lone server, which alone can end a session and does not while it is paused itself. @default 0
   */
  serverPauseMs?: number | undefined;
  /**
   * @default the machine's clock, in a form that does not jump when the time of day is set and keeps the process alive: a
   *   command that waits for ZooKeeper must not end without a word
   */
  clock?: Clock | undefined;
  /** @default none */
  logger?: ZooKeeperLogger | undefined;
  /** Requests that may be without answer at a time; one more is refused with `ZK_BACKLOG_FULL`. @default 50000 */
  maxBacklog?: number | undefined;
  /** Largest request, in bytes; the server hangs up on bigger ones (`jute.maxbuffer`). @default 1048575 */
  maxRequestBytes?: number | undefined;
  /** For creates that name no ACL. @default world:anyone with all permissions */
  defaultAcl?: readonly Acl[] | undefined;
  /** Numbers in [0, 1) for server order and back-off. @default Math.random */
  random?: (() => number) | undefined;
  /** Name resolution. @default the system's */
  lookup?: Lookup | undefined;
  /** Opens connections, in place of TCP and TLS. The servers are names in log lines then. */
  open?: OpenStream | undefined;
}

/** Full access for everyone: what Nodepool uses. */
export const openAcl: readonly Acl[] = stock.ACL.OPEN_ACL_UNSAFE.map(({ permission, id }) => ({
  permissions: permission,
  scheme: id.scheme,
  id: id.id,
}));

const DEFAULT_SESSION_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BACKLOG = 50_000;
const DEFAULT_MAX_REQUEST_BYTES = 0xf_ffff;

/** Timers that keep the process alive, with a time that only moves forward. */
const steadyClock: Clock = {
  now: () => performance.now(),
  setTimer: (ms, fn) => patientClock.setTimer(ms, fn),
};

/**
 * Makes a client and starts connecting, indefinitely until it is closed. An open client keeps the process alive.
 * @throws ZK_BAD_ARGUMENTS when servers, TLS files or numbers cannot be used
 */
export function createZooKeeper(options: ZooKeeperOptions): ZooKeeperConnection {
  return startClient(options);
}

/** As {@link createZooKeeper}; `lastXid` lets a test begin where request numbers run out. */
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
    logger.error('A ZooKeeper state listener failed', { error, state }),
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
 * As {@link createZooKeeper}, resolving once connected. Waits indefinitely unless aborted; an abort closes the client.
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
  throw new ZooKeeperError('ZK_BAD_ARGUMENTS', `ZooKeeper option ${name} is ${value}: want a whole number above 0`);
}
