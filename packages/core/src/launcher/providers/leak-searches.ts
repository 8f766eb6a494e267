import { steadyNow, type CancelTimer } from '@nodepool/zk-protocol';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import { loggingAs, type Context } from '../state/context.js';
import type { ProviderRunner } from './provider-runner.js';

/** A resource counts as leaked once two searches found it, and these must not see the same answer of the cloud. */
const LEAST_GAP_MS = 5_000;
/**
 * When to search after a pool has left. By the first search, the records of its launcher's unfinished launches are gone; the
 * last one is for the case that the first is skipped, because a sweep has just searched.
 */
const AFTER_POOL_LEFT_MS = [1_000, 6_500, 12_000];

/**
 * Searches the clouds of running providers for resources without a record. A launcher that is killed while the cloud creates
 * an instance leaves one whose id is stored nowhere, and which uses quota until two searches have found it. So searches
 * start when the launcher's pools leave the registry, not with the next sweep.
 */
export class LeakSearches {
  readonly #context: Context;
  readonly #runners: ReadonlyMap<string, ProviderRunner>;
  /** The time of each provider's last search. */
  readonly #searchedMs = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #timers = new Map<string, CancelTimer[]>();

  /** @param runners - the providers in force, by name */
  constructor(context: Context, runners: ReadonlyMap<string, ProviderRunner>) {
    this.#context = loggingAs(context, LOGGER_NAMES.cleanup);
    this.#runners = runners;
  }

  /** Searches all providers, except those that were searched a moment ago. */
  async searchAll(): Promise<void> {
    await Promise.all([...this.#runners.keys()].map((name) => this.#search(name)));
  }

  /** A pool of the provider has left the registry. Postpones searches that are already scheduled. */
  poolLeft(provider: string): void {
    const { clock } = this.#context;
    for (const cancel of this.#timers.get(provider) ?? []) cancel();
    const timers = AFTER_POOL_LEFT_MS.map((ms) => clock.setTimer(ms, () => void this.#search(provider)));
    this.#timers.set(provider, timers);
  }

  /** Ends searches too, which would hold up the stop while a cloud does not answer. */
  stop(): void {
    this.#stop.abort(new Error('the launcher stops'));
    for (const cancels of this.#timers.values()) for (const cancel of cancels) cancel();
    this.#timers.clear();
  }

  async #search(name: string): Promise<void> {
    const { clock, life, logger } = this.#context;
    const nowMs = steadyNow(clock);
    const runner = this.#runners.get(name);
    if (!runner?.running || nowMs - (this.#searchedMs.get(name) ?? -Infinity) < LEAST_GAP_MS) return;
    this.#searchedMs.set(name, nowMs);
    try {
      await runner.provider.cleanupLeakedResources(AbortSignal.any([life.signal, this.#stop.signal]));
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      logger.warn('Looking for leaked resources failed', { provider: name, error });
    }
  }
}
