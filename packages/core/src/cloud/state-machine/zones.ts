import type { Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import { Refreshed } from './refreshed.js';
import type { Adapter, StateMachinePoolConfig, StateMachineProviderConfig } from './types.js';

const LIFE_MS = 3_600_000;
const RETRY = { firstMs: 1_000, longestMs: 60_000 };

/** What zones are chosen from. */
export interface ZonesOptions {
  readonly config: StateMachineProviderConfig;
  readonly adapter: Adapter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Nodes of the label are better made in another zone. Missing: no zone is avoided. */
  readonly avoids?: ((zone: string, label: string) => boolean) | undefined;
  /** The zones became known. */
  readonly changed: () => void;
}

/** Chooses zones for new nodes: of the pool's, else of the cloud's. */
export class Zones {
  readonly #random: () => number;
  readonly #avoids: ZonesOptions['avoids'];
  readonly #zones: Refreshed<readonly (string | null)[]> | undefined;

  constructor({ config, adapter, clock, logger, random, avoids, changed }: ZonesOptions) {
    this.#random = random;
    this.#avoids = avoids;
    const asksCloud = [...config.pools.values()].some((pool) => !pool.azs?.length);
    if (!adapter.getAZs || !asksCloud) return;
    this.#zones = new Refreshed<readonly (string | null)[]>({
      clock,
      random,
      lifeMs: LIFE_MS,
      retry: RETRY,
      fetch: async (signal) => (await adapter.getAZs?.(signal)) ?? [],
      onFetched: (error) => {
        if (error !== undefined) logger.warn('Availability zones could not be read', { error });
        changed();
      },
    });
  }

  start(): void {
    this.#zones?.refresh();
  }

  stop(): void {
    this.#zones?.stop();
  }

  /** True once the zones are known or have turned out not to be available. */
  get settled(): boolean {
    return this.#zones?.settled ?? true;
  }

  /**
   * One of the zones at random, of those that have capacity for the label as far as is known; `null`: the cloud chooses.
   * @param label - of the first node of the request; `undefined`: not known
   */
  choose(pool: StateMachinePoolConfig, label: string | undefined): string | null {
    const all = pool.azs?.length ? pool.azs : (this.#zones?.value ?? []);
    const isAvoided = (zone: string | null) =>
      zone !== null && label !== undefined && (this.#avoids?.(zone, label) ?? false);
    const well = all.length > 1 ? all.filter((zone) => !isAvoided(zone)) : all;
    const zones = well.length > 0 ? well : all;
    return zones[Math.floor(this.#random() * zones.length)] ?? null;
  }
}
