import type { RequestId } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { Services } from '../mirror/services.js';
import { chooseProbes } from '../plan/health-rules.js';
import { keepsStandby } from '../plan/nodes.js';
import { poolKey } from '../mirror/usage.js';
import type { PoolLoad } from '../../contract/pool-load.js';
import type { PoolCandidates } from './pool-candidates.js';
import type { PoolPort } from './pool-port.js';
import { PoolWorker } from './pool-worker.js';
import type { ProviderRunner } from '../providers/provider-runner.js';

/** What pools learn from the launcher they run in; of one another they know from their set. */
export interface PoolSetPort extends Omit<PoolPort, 'isOurs' | 'reservationsEnded' | 'candidates' | 'config'> {
  readonly config: () => Pick<Config, 'providers' | 'labels'>;
  readonly candidates: PoolCandidates;
  /** A removed pool of the provider has ended what it had begun. */
  ended(provider: string): void;
}

/**
 * The pools of a launcher. A reload keeps those that are still configured; one that was removed ends what it had begun.
 * Events that matter to several pools find their pools here.
 */
export class PoolSet {
  readonly #services: Services;
  readonly #port: PoolSetPort;
  readonly #poolPort: PoolPort;
  readonly #workers = new Map<string, PoolWorker>();
  /** Pools that left the configuration and still work on what they had accepted. */
  readonly #leaving = new Set<PoolWorker>();

  constructor(services: Services, port: PoolSetPort) {
    this.#services = services;
    this.#port = port;
    this.#poolPort = {
      ...port,
      isOurs: (id) => this.handles(id),
      reservationsEnded: (provider, pool) => this.#wakeOthers(provider, pool),
    };
  }

  /** Those of the configuration in force. */
  get configured(): readonly PoolWorker[] {
    return [...this.#workers.values()];
  }

  /** Load of each of them. */
  loads(): PoolLoad[] {
    return this.configured.map(({ view, load }) => {
      const { provider, pool, launchLimit } = view;
      return { provider, pool: pool.name, ...load, ...(launchLimit < Infinity && { launchLimit }) };
    });
  }

  /** One of the pools works on the request, be it a removed one. */
  handles(id: RequestId): boolean {
    for (const worker of this.#all()) if (worker.handles(id)) return true;
    return false;
  }

  /** A pool that was removed still works for the provider. */
  isWorkedFor(provider: string): boolean {
    return [...this.#leaving].some(({ view }) => view.provider === provider);
  }

  /** One of the pools could launch nodes of the label now. */
  canLaunch(label: string): boolean {
    for (const { view } of this.#workers.values()) {
      if (keepsStandby(view, label) && view.labelReady(label)) return true;
    }
    return false;
  }

  /** Labels of which the provider has to launch a node now, to find out whether it works again. Empty: no probe is due. */
  labelsToProbe(provider: string): string[] {
    const steering = this.#port.steering(provider);
    if (!steering) return [];
    const views = this.configured.map(({ view }) => view).filter((view) => view.provider === provider);
    const due = [...this.#port.config().labels.values()].filter(
      ({ name, minReady }) =>
        minReady >= 0 &&
        steering.isProbeDue([name]) &&
        !steering.isTold(name) &&
        views.some((view) => keepsStandby(view, name) && view.labelReady(name)),
    );
    return chooseProbes(due, steering);
  }

  /** Of the registered pools with the label, the one with the smallest id is here. Older launchers do not register. */
  isFirstFor(label: string): boolean {
    const pools = this.#port.registry.pools.filter((pool) => pool.supportedLabels.includes(label));
    const ids = pools.map((pool) => pool.launcherId).sort();
    const first = ids[0];
    return first === undefined || [...this.#workers.values()].some(({ view }) => view.launcherId === first);
  }

  // --- configuration ----------------------------------------------------------------------------------------------

  /**
   * Lets the pools go that are not in the configuration. From now on the others count as candidates for requests, also
   * those that are yet to be made, until {@link settleCandidates}.
   */
  prepare(config: Config): void {
    this.#port.candidates.expect(config);
    const wanted = new Set<string>();
    for (const { name, pools } of config.providers.values()) {
      for (const pool of pools.keys()) wanted.add(poolKey(name, pool));
    }
    for (const [key, worker] of this.#workers) {
      if (wanted.has(key)) continue;
      this.#workers.delete(key);
      this.#leave(worker);
    }
  }

  /** Resolves when the pools of the provider run with its configuration. */
  async apply(runner: ProviderRunner): Promise<void> {
    const starting: Promise<void>[] = [];
    for (const pool of runner.config.pools.values()) {
      const key = poolKey(runner.name, pool.name);
      const current = this.#workers.get(key);
      if (current) {
        current.update(runner, pool);
        continue;
      }
      const launcherId = this.#port.candidates.idOf(key);
      const worker = new PoolWorker(this.#services, this.#poolPort, runner, pool, launcherId);
      this.#workers.set(key, worker);
      starting.push(worker.start());
    }
    await Promise.all(starting);
  }

  /** The configuration is in force, or could not be: pools that were not made will never serve anything. */
  settleCandidates(): void {
    if (this.#port.candidates.keepOnly((key) => this.#workers.has(key))) this.reconsiderAll();
  }

  /** The pool ends what it has begun. */
  #leave(worker: PoolWorker): void {
    this.#leaving.add(worker);
    const { provider, pool } = worker.view;
    worker
      .drain()
      .catch((error: unknown) =>
        this.#services.logger.warn('A removed pool did not end cleanly', { provider, pool: pool.name, error }),
      )
      .finally(() => {
        this.#leaving.delete(worker);
        this.#port.ended(provider);
      });
  }

  // --- events -----------------------------------------------------------------------------------------------------

  /** Capacity appeared or went that no record shows. @param pool - missing: in all pools of the provider */
  capacityChanged(provider: string, pool?: string): void {
    for (const worker of this.#workers.values()) {
      const { view } = worker;
      if (view.provider === provider && (pool === undefined || view.pool.name === pool)) worker.reconsiderAll();
    }
  }

  /** Everything may be different, as after a gap in what the caches saw. */
  reconsiderAll(): void {
    for (const worker of this.#workers.values()) worker.reconsiderAll();
  }

  /** Nothing is in the way of the request any more. */
  lookAgain(id: RequestId): void {
    for (const worker of this.#workers.values()) worker.lookAgain(id);
  }

  /** A periodic sweep, in case a watch event was missed. @returns how many requests were found waiting without a reason */
  sweep(): number {
    return [...this.#workers.values()].reduce((sum, worker) => sum + worker.sweep(), 0);
  }

  /** Whatever handlers do is void: their locks are gone. */
  sessionLost(cause: Error): void {
    for (const worker of this.#all()) worker.sessionLost(cause);
  }

  /** Registers the pools in the new session. Rejects when that one is lost too. */
  async sessionRenewed(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.sessionRenewed()));
  }

  /** A provider fails, is well again, or it is time for a probe. */
  healthChanged(provider: string): void {
    for (const worker of this.#all()) if (worker.view.provider === provider) worker.healthChanged();
  }

  // --- end --------------------------------------------------------------------------------------------------------

  /** Accepts nothing more. Resolves when all that was accepted has come to its end. */
  async drain(): Promise<void> {
    this.#port.candidates.keepOnly(() => false);
    await Promise.all([...this.#all()].map((worker) => worker.drain()));
  }

  /** Ends everything at once. */
  abandon(reason: Error): void {
    for (const worker of this.#all()) worker.abandon(reason);
  }

  /** Pools of one provider share its quota. */
  #wakeOthers(provider: string, pool: string): void {
    for (const worker of this.#workers.values()) {
      if (worker.view.provider === provider && worker.view.pool.name !== pool) worker.wake();
    }
  }

  *#all(): Generator<PoolWorker> {
    yield* this.#workers.values();
    yield* this.#leaving;
  }
}
