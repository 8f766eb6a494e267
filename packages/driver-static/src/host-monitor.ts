import { setMaxListeners } from 'node:events';
import { ScanQueue } from '@nodepool/core';
import { backoffMs, delay, type CancelTimer } from '@nodepool/zk-protocol';
import { hostIdentity } from './config.js';
import { answers, changedKeys, checkHost, keysChanged, needsContact } from './host-check.js';
import type { CheckServices, HostFacts } from './host-check.js';
import type { OfferedHost } from './host-record.js';

/** Checks that keep this machine busy at the same time. */
const ACTIVE_CHECKS = 32;
/** A check that has lasted this long only waits for the network; the next one begins. */
const ACTIVE_CHECK_MS = 500;
/** Age up to which a check's result is good enough to register another slot of the host. */
const FRESH_MS = 1_000;
const RETRY = { firstMs: 2_000, longestMs: 60_000, jitter: 0.25 };
/** How often the port of an idle host is looked at: so long on average, a quarter more or less. */
const IDLE_LOOK_MS = 60_000;
const IDLE_LOOK_JITTER = 0.5;

/** A configured host and what is known of it. */
export class MonitoredHost {
  readonly identity: string;
  readonly contacted: boolean;
  /** `undefined` before the first check and after one that failed. */
  facts: HostFacts | undefined;
  /** The keys that the last good check found. */
  knownKeys: readonly string[] | undefined;
  /** The last time that other keys were accepted, and the keys that they replaced. */
  keyChange: { readonly atMs: number; readonly keys: readonly string[] } | undefined;
  /** Checks that failed since the last good one. */
  failures = 0;
  /** When the last check ended; `undefined` before the first. */
  lastCheckMs: number | undefined;
  /** When the first check failed since the last good one. */
  failingSinceMs: number | undefined;
  /** Why the last check failed that has ended; `undefined`: it was good. */
  failedWith: Error | undefined;
  /** Why the last check failed, or the last connection of the one under way. */
  lastError: Error | undefined;
  /** When the next check begins by itself, in milliseconds since the epoch. */
  nextCheckMs: number | undefined;
  /** A check that is under way. */
  checking: Promise<void> | undefined;
  cancelRetry: CancelTimer | undefined;
  cancelLook: CancelTimer | undefined;
  /** Something about its records could not be written; the next sweep looks again. */
  unsettled = false;

  constructor(readonly offer: OfferedHost) {
    this.identity = hostIdentity(offer.host);
    this.contacted = needsContact(offer.host);
  }

  /** Whether a slot may be registered without asking the host again. */
  isFresh(nowMs: number): boolean {
    return this.facts !== undefined && (!this.contacted || nowMs - this.facts.checkedAtMs <= FRESH_MS);
  }
}

/** What the monitor asks about the records of a host. */
export interface MonitoredRecords {
  /** One of its nodes is free: nothing but the monitor would notice that it died. */
  isIdle(host: MonitoredHost): boolean;
  /** The host keys in its records; none when it has no record. */
  recordedKeys(host: MonitoredHost): readonly string[];
}

/**
 * Checks hosts, many at a time, and those that fail again and again with growing pauses. Looks at the port of idle ones every
 * minute.
 */
export class HostMonitor {
  readonly #services: CheckServices;
  readonly #records: MonitoredRecords;
  readonly #checked: (host: MonitoredHost) => void;
  readonly #abort = new AbortController();
  readonly #queue = new ScanQueue(ACTIVE_CHECKS);

  /** @param checked - called after each check, good or not; not after {@link HostMonitor.stop} */
  constructor(services: CheckServices, records: MonitoredRecords, checked: (host: MonitoredHost) => void) {
    this.#services = services;
    this.#records = records;
    this.#checked = checked;
    // Every check listens, and there may be thousands.
    setMaxListeners(0, this.#abort.signal);
  }

  /** Checks a host now, or joins the check under way. Never rejects. */
  check(host: MonitoredHost): Promise<void> {
    if (this.#abort.signal.aborted) return Promise.resolve();
    cancelTimers(host);
    host.checking ??= this.#check(host);
    return host.checking;
  }

  /** Ends all checks. A retry that is due does not happen any more. */
  stop(hosts: Iterable<MonitoredHost>): void {
    this.#abort.abort(new Error('the provider is stopping'));
    for (const host of hosts) cancelTimers(host);
  }

  async #check(host: MonitoredHost): Promise<void> {
    const { signal } = this.#abort;
    try {
      const facts = await this.#inTurn(host, signal, () => this.#look(host, signal));
      this.#judgeKeys(host, facts.hostKeys);
      this.#succeeded(host, facts);
    } catch (error) {
      if (!signal.aborted) this.#failed(host, error);
    } finally {
      host.checking = undefined;
    }
    if (!signal.aborted) this.#checked(host);
  }

  /** Dead hosts must not keep the others waiting: their checks continue outside the queue. */
  async #inTurn<T>(host: MonitoredHost, signal: AbortSignal, look: () => Promise<T>): Promise<T> {
    const { clock } = this.#services;
    // Thousands may wait: a listener for each would make starting slow, so those in the queue learn of a stop in turn.
    const check = async () => {
      signal.throwIfAborted();
      return look();
    };
    if (!host.contacted) return this.#queue.run(check);
    const turn = new AbortController();
    const begun = await this.#queue.run(async () => {
      const facts = check();
      const settled = facts.then(
        () => {},
        () => {}, // seen by whoever awaits the check itself
      );
      await Promise.race([settled, delay(clock, ACTIVE_CHECK_MS, turn.signal).catch(() => {})]);
      turn.abort();
      return { facts };
    });
    return begun.facts;
  }

  #look(host: MonitoredHost, signal: AbortSignal): Promise<HostFacts> {
    return checkHost(host.offer.host, this.#services, signal, (error) => (host.lastError = asError(error)));
  }

  /** Keys that differ from those the host had. A configured key proves by itself which host it is. */
  #judgeKeys(host: MonitoredHost, keys: readonly string[]): void {
    const { name, port, hostKeys, pinsHostKeys } = host.offer.host;
    const known = host.knownKeys ?? this.#records.recordedKeys(host);
    const changed = hostKeys.length > 0 ? [] : changedKeys(known, keys);
    if (changed.length > 0 && pinsHostKeys) throw keysChanged(name, port, changed);
    if (changed.length > 0) {
      const remedy = 'find out whether the host was installed again; "host-key-checking: pinned" refuses such a host';
      this.#services.logger.warn('Host key changed', { ...logFields(host), changed, remedy });
      host.keyChange = { atMs: this.#services.clock.now(), keys: changed };
    }
    host.knownKeys = keys;
  }

  /** Checks the host when it is idle and its port does not answer any more. */
  #lookLater(host: MonitoredHost): void {
    if (!host.contacted || this.#abort.signal.aborted) return;
    const { clock, random } = this.#services;
    const waitMs = Math.round(IDLE_LOOK_MS * (1 - IDLE_LOOK_JITTER / 2 + IDLE_LOOK_JITTER * random()));
    host.cancelLook = clock.setTimer(waitMs, () => {
      host.cancelLook = undefined;
      void this.#lookAtIdle(host);
    });
  }

  async #lookAtIdle(host: MonitoredHost): Promise<void> {
    const { signal } = this.#abort;
    const isAlive =
      !this.#records.isIdle(host) ||
      (await this.#inTurn(host, signal, () => answers(host.offer.host, this.#services, signal)).catch(
        () => signal.aborted,
      ));
    if (signal.aborted || host.checking !== undefined || host.facts === undefined) return; // checked meanwhile
    if (!isAlive) void this.check(host);
    else if (host.cancelLook === undefined) this.#lookLater(host);
  }

  #succeeded(host: MonitoredHost, facts: HostFacts): void {
    if (host.failures > 0) this.#services.logger.info('Host answers again', logFields(host));
    host.failures = 0;
    host.failingSinceMs = undefined;
    host.failedWith = undefined;
    host.lastCheckMs = this.#services.clock.now();
    host.lastError = undefined;
    host.facts = facts;
    this.#lookLater(host);
  }

  #failed(host: MonitoredHost, error: unknown): void {
    host.facts = undefined;
    host.failures += 1;
    host.lastError = asError(error);
    const { clock, logger, random } = this.#services;
    const retryInMs = Math.round(backoffMs(host.failures - 1, RETRY, random));
    host.lastCheckMs = clock.now();
    host.failingSinceMs ??= host.lastCheckMs;
    host.failedWith = asError(error);
    host.nextCheckMs = clock.now() + retryInMs;
    host.cancelRetry = clock.setTimer(retryInMs, () => void this.check(host));
    const fields = { ...logFields(host), failures: host.failures, retryInMs, error };
    if (host.failures === 1) logger.warn('Host cannot be used; trying again', fields);
    else logger.debug('Host still cannot be used', fields);
  }
}

function cancelTimers(host: MonitoredHost): void {
  host.cancelRetry?.();
  host.cancelLook?.();
  host.cancelRetry = host.cancelLook = undefined;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** What tells an operator which host a line is about. */
export function logFields({ offer }: MonitoredHost) {
  return { pool: offer.pool.name, host: offer.host.name, username: offer.host.username, port: offer.host.port };
}
