import type { CancelTimer } from '@nodepool/zk-protocol';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import { loggingAs, type Context } from '../state/context.js';
import type { ProviderRunner } from './provider-runner.js';

/** What is leaked is found twice, and two looks must not see the same answer of the cloud. */
const LEAST_GAP_MS = 5_000;
/**
 * When to look after a pool has left. At the first look the records of what the launcher was making are gone; the last one is
 * for when a sweep has looked just before the first, which is left out then.
 */
const AFTER_POOL_LEFT_MS = [1_000, 6_500, 12_000];

/**
 * Looks for resources in the clouds of running providers that no record knows. A launcher that is killed while the cloud
 * makes an instance leaves one whose id is stored nowhere, and which holds quota until it was found leaked twice. So
 * looks begin when the launcher's pools vanish, and not with the next sweep.
 */
export class LeakLooks {
  readonly #context: Context;
  readonly #runners: ReadonlyMap<string, ProviderRunner>;
  /** When each provider was looked at last. */
  readonly #lookedMs = new Map<string, number>();
  readonly #timers = new Map<string, CancelTimer[]>();

  /** @param runners - the providers in force, by name */
  constructor(context: Context, runners: ReadonlyMap<string, ProviderRunner>) {
    this.#context = loggingAs(context, LOGGER_NAMES.cleanup);
    this.#runners = runners;
  }

  /** Looks in all providers, leaving out those that were looked at a moment ago. */
  async look(): Promise<void> {
    await Promise.all([...this.#runners.keys()].map((name) => this.#lookAt(name)));
  }

  /** A pool of this provider has left the registry. Looks that are due already are put off. */
  poolLeft(provider: string): void {
    const { clock } = this.#context;
    for (const cancel of this.#timers.get(provider) ?? []) cancel();
    const timers = AFTER_POOL_LEFT_MS.map((ms) => clock.setTimer(ms, () => void this.#lookAt(provider)));
    this.#timers.set(provider, timers);
  }

  stop(): void {
    for (const cancels of this.#timers.values()) for (const cancel of cancels) cancel();
    this.#timers.clear();
  }

  async #lookAt(name: string): Promise<void> {
    const { clock, life, logger } = this.#context;
    const nowMs = clock.now();
    const runner = this.#runners.get(name);
    if (!runner?.running || nowMs - (this.#lookedMs.get(name) ?? -Infinity) < LEAST_GAP_MS) return;
    this.#lookedMs.set(name, nowMs);
    try {
      await runner.provider.cleanupLeakedResources(life.signal);
    } catch (error) {
      logger.warn('Looking for leaked resources failed', { provider: name, error });
    }
  }
}
