import { backoffMs, type NodeRecord, type Resources } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { TimeoutError } from '../../contract/errors.js';
import type { Driver, Provider } from '../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import type { Services } from '../mirror/services.js';
import type { PlannedLaunch } from '../requests/planned-launch.js';
import type { Logger } from '../../contract/logger.js';
import { accumulate, addResources, storedPart, unstoredPart } from '../../contract/resources.js';
import type { Reservation } from '../plan/types.js';

const RETRY = { firstMs: 1_000, longestMs: 60_000 };
const START_PATIENCE_MS = 30_000;

/** Launches decided on or under way. One ledger for all that succeed each other under a name: a reload ends no launch. */
class LaunchLedger {
  active = 0;
  /** Needs of nodes that have no record yet. */
  readonly promised: Resources = {};
  readonly promisedByPool = new Map<string, Resources>();

  promise(pool: string, need: Resources, factor: 1 | -1): void {
    const stored = storedPart(need);
    accumulate(this.promised, stored, factor);
    let ofPool = this.promisedByPool.get(pool);
    if (!ofPool) this.promisedByPool.set(pool, (ofPool = {}));
    accumulate(ofPool, stored, factor);
  }
}

/** The driver behind a provider entry. */
export interface LoadedProvider {
  readonly driver: Driver;
}

/** One configured provider while it runs: its driver object, and what all its pools share. */
export class ProviderRunner {
  readonly provider: Provider;
  readonly launches: boolean;
  readonly pausesAtQuota: boolean;
  /** How many launches may be under way at once follows from how they go. */
  readonly rampsLaunches: boolean;
  readonly #services: Services;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  readonly #ledger: LaunchLedger;
  readonly #reservations = new Map<string, readonly Reservation[]>();
  readonly #heads = new Map<string, Reservation>();
  #started: Promise<void> | undefined;
  #failure: Error | undefined;
  #running = false;

  /** @param predecessor - whose configuration is replaced */
  constructor(services: Services, loaded: LoadedProvider, provider: Provider, predecessor?: ProviderRunner) {
    this.#services = services;
    this.#ledger = predecessor ? predecessor.#ledger : new LaunchLedger();
    this.provider = provider;
    this.launches = loaded.driver.capabilities.launches;
    this.pausesAtQuota = loaded.driver.capabilities.pausesAtQuota;
    this.rampsLaunches = this.launches && (loaded.driver.capabilities.rampsLaunches ?? true);
    this.#logger = services.logger.child({ provider: provider.config.name });
  }

  get config(): ProviderConfig {
    return this.provider.config;
  }

  get name(): string {
    return this.provider.config.name;
  }

  /** True once the driver's `start` has succeeded. */
  get running(): boolean {
    return this.#running;
  }

  /** Launches decided on or under way, over all pools. */
  get activeLaunches(): number {
    return this.#ledger.active;
  }

  /** Why the last start failed; `undefined` once it has succeeded. */
  get startFailure(): Error | undefined {
    return this.#failure;
  }

  /**
   * Starts the provider; a failed start is repeated with growing pauses.
   * @returns when the first attempt has ended, or takes too long to be waited for
   */
  start(onRunning: () => void): Promise<void> {
    this.#started ??= this.#patiently(this.#attempt(0, onRunning));
    return this.#started;
  }

  /** Takes nothing new: the driver is in disorder, and a successor will be made. */
  suspend(why: Error): void {
    this.#running = false;
    this.#failure = why;
  }

  idle(): void {
    this.provider.idle();
  }

  /** Ends the provider and resolves when everything of it has ended. */
  async stop(): Promise<void> {
    this.#running = false;
    this.provider.stop();
    await this.provider.join();
    this.#stop.abort(new Error(`provider "${this.name}" stops`));
  }

  /**
   * Counts a launch, and the need of its node until that has a record, so that two pools do not spend the same quota.
   * @param onEnd - there may be capacity for others now
   */
  planLaunch(pool: string, need: Resources, onEnd: () => void): PlannedLaunch {
    let isPromised = true;
    let isOver = false;
    const recorded = () => {
      if (isPromised) this.#ledger.promise(pool, need, -1);
      isPromised = false;
    };
    this.#ledger.promise(pool, need, 1);
    this.#ledger.active++;
    return {
      need,
      recorded,
      ended: (result) => {
        if (isOver) return;
        isOver = true;
        recorded();
        this.#ledger.active--;
        if (result?.state === 'aborted') this.provider.quota?.invalidateQuotaCache();
        onEnd();
      },
    };
  }

  /** What the accepted requests of a pool wait for; replaced each time it changes. */
  setReservations(pool: string, reservations: readonly Reservation[]): void {
    if (reservations.length > 0) this.#reservations.set(pool, reservations);
    else this.#reservations.delete(pool);
  }

  /** The first request of a pool that waits for capacity of the provider. @returns whether it is another than before */
  setHead(pool: string, head: Reservation | undefined): boolean {
    const before = this.#heads.get(pool);
    if (head) this.#heads.set(pool, head);
    else this.#heads.delete(pool);
    return before !== undefined && !isSameReservation(before, head);
  }

  /** First waiting requests of all pools but one. */
  headsBesides(pool: string): Reservation[] {
    if (this.#heads.size === 0) return [];
    return [...this.#heads].filter(([name]) => name !== pool).map(([, head]) => head);
  }

  /** What the accepted requests of one pool wait for. */
  reservationsOf(pool: string): readonly Reservation[] {
    return this.#reservations.get(pool) ?? [];
  }

  /** Reservations of all pools but one. */
  reservationsBesides(pool: string): Reservation[] {
    if (this.#reservations.size === 0) return [];
    return [...this.#reservations].flatMap(([name, list]) => (name === pool ? [] : list));
  }

  usedByProvider(): Resources {
    const used = this.#services.mirror.usage.ofProvider(this.name, this.config.pools.values());
    return sumOf(used, this.#ledger.promised, this.#unstored());
  }

  usedByPool(pool: string): Resources {
    const configured = this.config.pools.get(pool);
    const used = configured ? this.#services.mirror.usage.ofPool(this.name, configured) : {};
    return sumOf(used, this.#ledger.promisedByPool.get(pool), this.#unstored(pool));
  }

  /** What all nodes of the provider, or of one pool, use of that which no record tells, those about to be made included. */
  #unstored(only?: string): Resources {
    const used: Resources = {};
    for (const { pool, label, nodes } of this.#services.mirror.labelUse.ofProvider(this.name)) {
      const config = only === undefined || pool === only ? this.config.pools.get(pool) : undefined;
      if (config?.labels.has(label)) accumulate(used, unstoredPart(this.needOf(label, config)), nodes);
    }
    return used;
  }

  /** Need of one node of a label; a single instance for drivers without quota. */
  needOf(label: string, pool: PoolConfig): Resources {
    return this.provider.quota?.quotaNeededByLabel(label, pool) ?? ONE_INSTANCE;
  }

  ownsNode(node: NodeRecord): boolean {
    return node.provider === this.name;
  }

  /** A start that hangs continues in the background, so that the other providers can begin to work. */
  async #patiently(attempt: Promise<void>): Promise<void> {
    const { clock } = this.#services;
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = clock.setTimer(START_PATIENCE_MS, () => {
        const text = `its start has not ended for ${START_PATIENCE_MS / 1_000} s; it continues in the background`;
        this.#failure = new TimeoutError(text, { timeoutMs: START_PATIENCE_MS });
        this.#logger.error('Provider does not start; continuing without it for now', { afterMs: START_PATIENCE_MS });
        resolve();
      });
    });
    await Promise.race([attempt, late]).finally(cancel);
  }

  async #attempt(attempt: number, onRunning: () => void): Promise<void> {
    try {
      await this.provider.start(this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      this.#running = true;
      this.#failure = undefined;
      onRunning();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#failure = asError(error);
      const pause = backoffMs(attempt, RETRY, this.#services.random);
      this.#logger.error('Provider could not be started; trying again', { error, pauseMs: Math.round(pause) });
      this.#services.clock.setTimer(pause, () => {
        if (!this.#stop.signal.aborted) void this.#attempt(attempt + 1, onRunning);
      });
    }
  }
}

const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });

/** Returns `used` itself, not a copy, if there is nothing to add. */
function sumOf(used: Resources, ...others: (Resources | undefined)[]): Resources {
  let sum = used;
  for (const more of others) {
    for (const name in more) if (more[name]) sum = addResources(sum, { [name]: more[name] ?? 0 });
  }
  return sum;
}

function isSameReservation(a: Reservation, b: Reservation | undefined): boolean {
  if (a.request.id !== b?.request.id) return false;
  return [...new Set([...Object.keys(a.need), ...Object.keys(b.need)])].every((name) => a.need[name] === b.need[name]);
}
