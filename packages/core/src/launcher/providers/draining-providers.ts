import { isIdle, steadyNow, type NodeRecord } from '@nodepool/zk-protocol';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';
import type { ProviderRunner } from './provider-runner.js';

/** A provider that left the configuration and still has nodes. */
export interface DrainingStatus {
  readonly provider: string;
  /** Number of nodes left. */
  readonly nodes: number;
  /** When it left, ms since the epoch. */
  readonly sinceMs: number;
}

/**
 * How long the free nodes of a removed provider are kept: the removal may have been a mistake, and launchers that reload
 * together do not drop the provider at the same moment.
 */
const GRACE_PERIOD_MS = 60_000;

/**
 * Providers that left the configuration, until their nodes are gone. They delete returned nodes as before, and free nodes
 * after a grace period, see {@link judge}. If another launcher has the provider, its nodes are left to that one.
 */
export class DrainingProviders {
  readonly #context: Context;
  readonly #registry: PoolRegistry;
  readonly #draining = new Map<string, { readonly runner: ProviderRunner; readonly sinceMs: number }>();
  /** Number of pools that use a provider, configured or not. */
  readonly #pools = new Map<string, number>();

  constructor(context: Context, registry: PoolRegistry) {
    this.#context = context;
    this.#registry = registry;
  }

  get(name: string): ProviderRunner | undefined {
    return this.#draining.get(name)?.runner;
  }

  status(): DrainingStatus[] {
    return [...this.#draining].map(([provider, { sinceMs }]) => ({
      provider,
      nodes: this.#context.mirror.countOfProvider(provider),
      sinceMs,
    }));
  }

  /** Starts to drain a provider. */
  add(runner: ProviderRunner): void {
    const { clock, logger, mirror } = this.#context;
    this.#draining.set(runner.name, { runner, sinceMs: steadyNow(clock) });
    const nodes = mirror.countOfProvider(runner.name);
    logger.info('Provider left the configuration; draining it', { provider: runner.name, nodes });
  }

  /** Removes a provider that does not drain any more, e.g. because it is configured again. */
  take(name: string): ProviderRunner | undefined {
    const runner = this.get(name);
    this.#draining.delete(name);
    return runner;
  }

  takeAll(): ProviderRunner[] {
    return [...this.#draining.keys()].map((name) => this.take(name)).filter((runner) => runner !== undefined);
  }

  /** A pool uses the provider, until {@link endWork}. */
  beginWork(name: string): void {
    this.#pools.set(name, (this.#pools.get(name) ?? 0) + 1);
  }

  endWork(name: string): void {
    this.#pools.set(name, (this.#pools.get(name) ?? 0) - 1);
  }

  /** Removes and returns the provider if it has drained: no nodes, and no pool that uses it. */
  takeDrained(name: string): ProviderRunner | undefined {
    const { mirror, logger } = this.#context;
    if (!this.#draining.has(name) || this.#isInUse(name) || mirror.countOfProvider(name) > 0) return undefined;
    logger.info('Drained provider: its nodes are gone', { provider: name });
    return this.take(name);
  }

  /** What becomes of an idle node of a provider that drains; `undefined`: it stays. */
  judge(node: NodeRecord): { readonly act: string; readonly afterMs: number } | undefined {
    const { provider } = node;
    const draining = provider === null ? undefined : this.#draining.get(provider);
    if (!draining || !isIdle(node) || this.#isInUse(draining.runner.name)) return undefined;
    if (this.#isOfAnother(draining.runner.name)) return undefined;
    return { act: 'its provider left the configuration', afterMs: this.#graceMs(draining.sinceMs) };
  }

  /** Removes and returns providers that have drained or that another launcher has. */
  sweep(): ProviderRunner[] {
    const ended: (ProviderRunner | undefined)[] = [];
    for (const [name, { sinceMs }] of this.#draining) {
      if (this.#graceMs(sinceMs) > 0 || this.#isInUse(name)) continue;
      if (this.#isOfAnother(name)) {
        this.#context.logger.info('Stopping to drain provider: another launcher has it', { provider: name });
        ended.push(this.take(name));
      } else {
        ended.push(this.takeDrained(name));
      }
    }
    return ended.filter((runner) => runner !== undefined);
  }

  /** The rest of the grace period. */
  #graceMs(sinceMs: number): number {
    return Math.max(0, sinceMs + GRACE_PERIOD_MS - steadyNow(this.#context.clock));
  }

  #isOfAnother(name: string): boolean {
    return this.#registry.pools.some(({ providerName }) => providerName === name);
  }

  #isInUse(name: string): boolean {
    return (this.#pools.get(name) ?? 0) > 0;
  }
}
