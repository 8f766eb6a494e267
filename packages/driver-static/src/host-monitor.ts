import { setMaxListeners } from 'node:events';
import { ScanQueue } from '@nodepool/core';
import { backoffMs, delay, type CancelTimer } from '@nodepool/zk-protocol';
import { hostIdentity } from './config.js';
import { checkHost, needsContact } from './host-check.js';
import type { CheckServices, HostFacts } from './host-check.js';
import type { OfferedHost } from './host-record.js';

/** Checks that keep this machine busy at the same time. */
const ACTIVE_CHECKS = 32;
/** A check that has lasted this long only waits for the network; the next one begins. */
const ACTIVE_CHECK_MS = 500;
/** Age up to which a check's result is good enough to register another slot of the host. */
const FRESH_MS = 1_000;
const RETRY = { firstMs: 2_000, longestMs: 60_000, jitter: 0.25 };

/** A configured host and what is known of it. */
export class MonitoredHost {
  readonly identity: string;
  readonly contacted: boolean;
  /** `undefined` before the first check and after one that failed. */
  facts: HostFacts | undefined;
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

/** Checks hosts, many at a time, and those that fail again and again with growing pauses. */
export class HostMonitor {
  readonly #services: CheckServices;
  readonly #checked: (host: MonitoredHost) => void;
  readonly #abort = new AbortController();
  readonly #queue = new ScanQueue(ACTIVE_CHECKS);

  /** @param checked - called after each check, good or not; not after {@link HostMonitor.stop} */
  constructor(services: CheckServices, checked: (host: MonitoredHost) => void) {
    this.#services = services;
    this.#checked = checked;
    // Every check listens, and there may be thousands.
    setMaxListeners(0, this.#abort.signal);
  }

  /** Checks a host now, or joins the check under way. Never rejects. */
  check(host: MonitoredHost): Promise<void> {
    if (this.#abort.signal.aborted) return Promise.resolve();
    host.cancelRetry?.();
    host.cancelRetry = undefined;
    host.checking ??= this.#check(host);
    return host.checking;
  }

  /** Ends all checks. A retry that is due does not happen any more. */
  stop(hosts: Iterable<MonitoredHost>): void {
    this.#abort.abort(new Error('the provider is stopping'));
    for (const host of hosts) host.cancelRetry?.();
  }

  async #check(host: MonitoredHost): Promise<void> {
    const { signal } = this.#abort;
    try {
      const facts = await this.#inTurn(host, signal);
      this.#succeeded(host, facts);
    } catch (error) {
      if (!signal.aborted) this.#failed(host, error);
    } finally {
      host.checking = undefined;
    }
    if (!signal.aborted) this.#checked(host);
  }

  /** Dead hosts must not keep the others waiting: their checks continue outside the queue. */
  async #inTurn(host: MonitoredHost, signal: AbortSignal): Promise<HostFacts> {
    const { clock } = this.#services;
    // Thousands may wait: a listener for each would make starting slow, so those in the queue learn of a stop in turn.
    const check = async () => {
      signal.throwIfAborted();
      return checkHost(host.offer.host, this.#services, signal, (error) => (host.lastError = asError(error)));
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

  #succeeded(host: MonitoredHost, facts: HostFacts): void {
    if (host.failures > 0) this.#services.logger.info('Host answers again', logFields(host));
    host.failures = 0;
    host.failingSinceMs = undefined;
    host.failedWith = undefined;
    host.lastCheckMs = this.#services.clock.now();
    host.lastError = undefined;
    host.facts = facts;
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

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** What tells an operator which host a line is about. */
export function logFields({ offer }: MonitoredHost) {
  return { pool: offer.pool.name, host: offer.host.name, username: offer.host.username, port: offer.host.port };
}
