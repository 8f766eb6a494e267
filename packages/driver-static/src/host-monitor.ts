import { setMaxListeners } from 'node:events';
import { KeyScanError, ScanQueue } from '@nodepool/core/ssh';
import { backoffMs, delay, steadyNow, type CancelTimer, type Clock } from '@nodepool/zk-protocol';
import { hostIdentity } from './config.js';
import { answers, changedKeys, checkHost, keysChanged, needsContact } from './host-check.js';
import type { CheckServices, HostFacts } from './host-check.js';
import type { OfferedHost } from './host-record.js';
import { SharedScans } from './shared-scans.js';

/** Concurrent checks that may use this machine's CPU. */
const ACTIVE_CHECKS = 32;
/** A check that has taken this long is waiting for the network, so the next one may start. */
const ACTIVE_CHECK_MS = 500;
/** Maximum age of a check whose result may register another slot of the host. */
const FRESH_MS = 1_000;
const RETRY = { firstMs: 2_000, longestMs: 60_000, jitter: 0.25 };
/** An sshd that refuses an address does so for at least 15 seconds. */
const REFUSED_RETRY = { ...RETRY, firstMs: 20_000 };
/** Mean interval between port checks of an idle host; jitter is a quarter up or down. */
const PORT_CHECK_MS = 40_000;
const PORT_CHECK_JITTER = 0.5;

/** A configured host with the results of its checks. */
export class MonitoredHost {
  readonly identity: string;
  readonly contacted: boolean;
  /** `undefined` before the first check and after a failed one. */
  facts: HostFacts | undefined;
  /** Keys found by the last successful check. */
  knownKeys: readonly string[] | undefined;
  /** When changed keys were last accepted, and the keys they replaced. */
  keyChange: { readonly atMs: number; readonly steadyMs: number; readonly keys: readonly string[] } | undefined;
  /** Failed checks since the last successful one. */
  failures = 0;
  /** When the last check ended; `undefined` before the first. */
  lastCheckMs: number | undefined;
  /** When the first check after the last successful one failed. */
  failingSinceMs: number | undefined;
  /** Error of the last completed check; `undefined` if it passed. */
  failedWith: Error | undefined;
  /** Error of the last check, or of the last connection of the running one. */
  lastError: Error | undefined;
  /** When the next retry starts, in milliseconds since the epoch. */
  nextCheckMs: number | undefined;
  /** The running check. */
  checking: Promise<void> | undefined;
  cancelRetry: CancelTimer | undefined;
  cancelPortCheck: CancelTimer | undefined;
  /** A write of its records failed or was skipped; the next sweep reconciles the host. */
  unsettled = false;

  constructor(readonly offer: OfferedHost) {
    this.identity = hostIdentity(offer.host);
    this.contacted = needsContact(offer.host);
  }

  /** Whether a slot may be registered without another check. */
  isFresh(clock: Clock): boolean {
    return this.facts !== undefined && (!this.contacted || steadyNow(clock) - this.facts.checkedAtMs <= FRESH_MS);
  }
}

/** Queries of the monitor about the records of a host. */
export interface MonitoredRecords {
  /** Whether a node of the host is free, so that only the monitor would notice a failure. */
  isIdle(host: MonitoredHost): boolean;
  /** Host keys in its records; empty if it has no record. */
  recordedKeys(host: MonitoredHost): readonly string[];
}

/**
 * Checks hosts concurrently, retries failed checks with exponential backoff, and probes the port of idle hosts every
 * minute.
 */
export class HostMonitor {
  readonly #services: CheckServices;
  readonly #records: MonitoredRecords;
  readonly #checked: (host: MonitoredHost) => void;
  readonly #abort = new AbortController();
  readonly #queue = new ScanQueue(ACTIVE_CHECKS);
  readonly #scans: SharedScans;

  /** @param checked - called after each check, passed or failed; never after {@link HostMonitor.stop} */
  constructor(services: CheckServices, records: MonitoredRecords, checked: (host: MonitoredHost) => void) {
    this.#services = services;
    this.#scans = new SharedScans(services.clock, services.scan);
    this.#records = records;
    this.#checked = checked;
    // Each of possibly thousands of checks adds a listener.
    setMaxListeners(0, this.#abort.signal);
  }

  /** Checks a host now, or joins the running check. Never rejects. */
  check(host: MonitoredHost): Promise<void> {
    if (this.#abort.signal.aborted) return Promise.resolve();
    cancelTimers(host);
    host.checking ??= this.#check(host);
    return host.checking;
  }

  /** Aborts all checks and cancels all retries. */
  stop(hosts: Iterable<MonitoredHost>): void {
    this.#abort.abort(new Error('the provider is stopping'));
    for (const host of hosts) cancelTimers(host);
  }

  async #check(host: MonitoredHost): Promise<void> {
    const { signal } = this.#abort;
    try {
      const facts = await this.#queued(host, signal, () => this.#scan(host, signal));
      this.#compareKeys(host, facts.hostKeys);
      this.#succeeded(host, facts);
    } catch (error) {
      if (!signal.aborted) this.#failed(host, error);
    } finally {
      host.checking = undefined;
    }
    if (!signal.aborted) this.#checked(host);
  }

  /** A slow check leaves its place in the queue after {@link ACTIVE_CHECK_MS}, so that dead hosts delay no other. */
  async #queued<T>(host: MonitoredHost, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    const { clock } = this.#services;
    // A listener for each of thousands of queued checks would slow the start, so each sees the abort at its turn.
    const check = async () => {
      signal.throwIfAborted();
      return run();
    };
    if (!host.contacted) return this.#queue.run(check);
    const turn = new AbortController();
    const started = await this.#queue.run(async () => {
      const facts = check();
      const settled = facts.then(
        () => {},
        () => {}, // handled where the check itself is awaited
      );
      await Promise.race([settled, delay(clock, ACTIVE_CHECK_MS, turn.signal).catch(() => {})]);
      turn.abort();
      return { facts };
    });
    return started.facts;
  }

  #scan(host: MonitoredHost, signal: AbortSignal): Promise<HostFacts> {
    const scan: CheckServices['scan'] = (options) => this.#scans.read(host.identity, options);
    const services = { ...this.#services, scan };
    return checkHost(host.offer.host, services, signal, (error) => (host.lastError = asError(error)));
  }

  /** Rejects or reports changed keys. A host with a configured key is identified by that key alone. */
  #compareKeys(host: MonitoredHost, keys: readonly string[]): void {
    const { name, port, hostKeys, pinsHostKeys } = host.offer.host;
    const known = host.knownKeys ?? this.#records.recordedKeys(host);
    const changed = hostKeys.length > 0 ? [] : changedKeys(known, keys);
    if (changed.length > 0 && pinsHostKeys) throw keysChanged(name, port, changed);
    if (changed.length > 0) {
      const remedy =
        'check that the host was reinstalled; "host-key-checking: pinned" refuses a host with changed keys';
      this.#services.logger.warn('Host key changed', { ...logFields(host), changed, remedy });
      const { clock } = this.#services;
      host.keyChange = { atMs: clock.now(), steadyMs: steadyNow(clock), keys: changed };
    }
    host.knownKeys = keys;
  }

  /** Schedules a port check; if the port of an idle host does not answer, a full check follows. */
  #schedulePortCheck(host: MonitoredHost): void {
    if (!host.contacted || this.#abort.signal.aborted) return;
    const { clock, random } = this.#services;
    const waitMs = Math.round(PORT_CHECK_MS * (1 - PORT_CHECK_JITTER / 2 + PORT_CHECK_JITTER * random()));
    host.cancelPortCheck = clock.setTimer(waitMs, () => {
      host.cancelPortCheck = undefined;
      void this.#checkPort(host);
    });
  }

  async #checkPort(host: MonitoredHost): Promise<void> {
    const { signal } = this.#abort;
    const isAlive =
      !this.#records.isIdle(host) ||
      (await this.#queued(host, signal, () => answers(host.offer.host, this.#services, signal)).catch(
        () => signal.aborted,
      ));
    if (signal.aborted || host.checking !== undefined || host.facts === undefined) return; // a check ran in the meantime
    if (!isAlive) void this.check(host);
    else if (host.cancelPortCheck === undefined) this.#schedulePortCheck(host);
  }

  #succeeded(host: MonitoredHost, facts: HostFacts): void {
    if (host.failures > 0) this.#services.logger.info('Host check passed again', logFields(host));
    host.failures = 0;
    host.failingSinceMs = undefined;
    host.failedWith = undefined;
    host.lastCheckMs = this.#services.clock.now();
    host.lastError = undefined;
    host.facts = facts;
    this.#schedulePortCheck(host);
  }

  #failed(host: MonitoredHost, error: unknown): void {
    host.facts = undefined;
    host.failures += 1;
    host.lastError = asError(error);
    const { clock, logger, random } = this.#services;
    const isRefused = error instanceof KeyScanError && error.failure === 'refused';
    const retry = isRefused ? REFUSED_RETRY : RETRY;
    const retryInMs = Math.round(backoffMs(host.failures - 1, retry, random));
    host.lastCheckMs = clock.now();
    host.failingSinceMs ??= host.lastCheckMs;
    host.failedWith = asError(error);
    host.nextCheckMs = clock.now() + retryInMs;
    host.cancelRetry = clock.setTimer(retryInMs, () => void this.check(host));
    const fields = { ...logFields(host), failures: host.failures, retryInMs, error };
    if (host.failures === 1) logger.warn('Host check failed; retrying', fields);
    else logger.debug('Host check failed again', fields);
  }
}

function cancelTimers(host: MonitoredHost): void {
  host.cancelRetry?.();
  host.cancelPortCheck?.();
  host.cancelRetry = host.cancelPortCheck = undefined;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Log fields that identify a host. */
export function logFields({ offer }: MonitoredHost) {
  return { pool: offer.pool.name, host: offer.host.name, username: offer.host.username, port: offer.host.port };
}
