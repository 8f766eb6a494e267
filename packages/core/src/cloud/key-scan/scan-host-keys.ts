import { systemClock } from '@nodepool/zk-protocol';
import type { Clock } from '@nodepool/zk-protocol';
import { TimeoutError } from '../../contract/errors.js';
import { silentLogger } from '../../contract/logger.js';
import type { Logger } from '../../contract/logger.js';
import { startDeadline } from '../../async/deadline.js';
import { sharedPace } from './connection-pace.js';
import { HandshakeError, KeyScanError, machineSaidOf, messageOf } from './errors.js';
import { HostScan } from './host-scan.js';
import { KEY_TYPES } from './key-types.js';
import type { KeyType } from './key-types.js';
import { hasHostKeys, isFakeHost, resolveAddresses } from './resolve.js';
import type { HostLookup } from './resolve.js';
import { openSocket } from './socket.js';

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
/** Connections of a usual scan: one for each type of key that sshd makes. */
const USUAL_CONNECTIONS = 3;

/** Options of a check of a port. */
export interface CheckPortOptions {
  /** Name or address. */
  host: string;
  port: number;
  timeoutMs: number;
  /** Default: the machine's clock. */
  clock?: Clock | undefined;
  /** An abort ends all connections and rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Default: the machine's resolver. */
  lookup?: HostLookup | undefined;
}

/** Options of a key scan. */
export interface ScanHostKeysOptions extends CheckPortOptions {
  /** Only `ssh` and `network_cli` have keys; for others an open port is enough. */
  connectionType: string | null;
  /** Time limit of one connection with its handshake; then a new one is made. Default 10,000. */
  connectTimeoutMs?: number | undefined;
  logger?: Logger | undefined;
  /** Default: all known types. Also the order of the returned keys. */
  keyTypes?: readonly KeyType[] | undefined;
  /** Logs each failed connection, while the scan continues. */
  onFailure?: ((error: unknown) => void) | undefined;
  /** Spreads the pauses; a number in [0, 1). */
  random?: (() => number) | undefined;
}

/**
 * Waits until a host answers on its port and reads its SSH host keys. A key is returned only after the server has proved in a
 * handshake that it owns it; nothing secret is sent. Refused connections are retried after 100 ms to two seconds. A host that has
 * had many connections of this process waits for its scan, so that it does not refuse this machine.
 * @returns each key once as `<type> <base64>`, in the order of the key types; none for connection types without keys
 * @throws {TimeoutError} the time limit passed; the message has the last error
 * @throws {KeyScanError} the host has no address, no key or method of a known type, refuses connections, or does not speak SSH properly
 */
export async function scanHostKeys(options: ScanHostKeysOptions): Promise<string[]> {
  const wantsKeys = hasHostKeys(options.connectionType);
  if (isFakeHost(options.host)) return wantsKeys ? ['ssh-rsa FAKEKEY'] : [];
  const { host, port, timeoutMs, clock = systemClock } = options;
  const pace = sharedPace(clock);
  const granted = wantsKeys ? USUAL_CONNECTIONS : 1;
  await pace.turn(host, port, granted, options.signal); // not part of the time of the scan
  const deadline = startDeadline(clock, timeoutMs, options.signal);
  let scan: HostScan | undefined;
  try {
    const addresses = await resolveAddresses(options, deadline.signal);
    scan = new HostScan({
      host,
      addresses,
      port,
      clock,
      connectTimeoutMs: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
      logger: options.logger ?? silentLogger,
      random: options.random ?? Math.random,
      keyTypes: options.keyTypes ?? KEY_TYPES,
      pace,
      granted,
      onFailure: options.onFailure ?? (() => {}),
    });
    if (wantsKeys) return await scan.readKeys(deadline.signal);
    await scan.reachPort(deadline.signal);
    return [];
  } catch (error) {
    const lastError = scan?.lastError;
    const machineSaid = machineSaidOf(lastError);
    if (machineSaid !== undefined) options.logger?.info('What the host said instead', { host, port, machineSaid });
    throw deadline.expired ? timeoutError(options, wantsKeys, lastError) : error;
  } finally {
    pace.count(host, port, -(scan?.unused ?? granted));
    deadline.end();
  }
}

/**
 * Whether a host accepts a TCP connection within the time limit, with a single attempt for each of its addresses. Always true for hosts whose name contains
 * `fake`. Rejects only for an abort, with the signal's reason.
 */
export async function checkPort(options: CheckPortOptions): Promise<boolean> {
  if (isFakeHost(options.host)) return true;
  const { port, timeoutMs, clock = systemClock } = options;
  const deadline = startDeadline(clock, timeoutMs, options.signal);
  try {
    const addresses = await resolveAddresses(options, deadline.signal);
    const target = { port, timeoutMs, clock };
    sharedPace(clock).count(options.host, port, 1);
    const tries = addresses.map((address) => openSocket({ ...target, address }, deadline.signal));
    for (const each of tries) each.then((socket) => socket.destroy()).catch(() => {});
    await Promise.any(tries);
    return true;
  } catch {
    // any failure means no, except an abort of the caller
    options.signal?.throwIfAborted();
    return false;
  } finally {
    deadline.end();
  }
}

function timeoutError(options: ScanHostKeysOptions, wantsKeys: boolean, lastError: unknown): Error {
  const { host, port, timeoutMs } = options;
  if (lastError instanceof HandshakeError && lastError.isRefusal) {
    const message = `${lastError.message}: add this machine's address to PerSourcePenaltyExemptList in its sshd_config`;
    return new KeyScanError({ host, port, failure: 'refused', message, cause: lastError });
  }
  if (lastError instanceof HandshakeError && lastError.isForeign) {
    const message = `${lastError.message}: check that the port is right`;
    return new KeyScanError({ host, port, failure: 'protocol', message, cause: lastError });
  }
  const wanted = wantsKeys ? 'its SSH host keys could not be read' : 'the port did not answer';
  const last = lastError === undefined ? 'nothing came back' : messageOf(lastError);
  return new TimeoutError(
    `${host} port ${port}: ${wanted} within ${timeoutMs} ms (last: ${last}): ` +
      'check that the host is up, that the port is right and not filtered, or allow more time',
    { timeoutMs, cause: lastError, statsdKey: 'error.keyscan' },
  );
}
