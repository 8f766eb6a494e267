import { isFree } from '@nodepool/zk-protocol';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';
import { releaseNode } from '../state/expire-node.js';
import type { NodesByProvider } from './nodes-by-provider.js';
import type { ProviderRunner } from './provider-runner.js';

/** A provider that left the configuration and still has nodes. */
export interface DrainingStatus {
  readonly provider: string;
  /** Its nodes that are not gone yet. */
  readonly nodes: number;
  /** When it left, ms since the epoch. */
  readonly sinceMs: number;
}

/**
 * How long the free nodes of a provider that left are kept: it may come back at once, as after a mistake, and launchers
 * that reload at the same time do not drop it in the same moment.
 */
const SECOND_THOUGHTS_MS = 60_000;

/**
 * Providers that left the configuration, until their nodes are gone: what is given back is deleted by them as before,
 * and nodes that no request can get any more are deleted too. Where another launcher serves the provider, that one does
 * it.
 */
export class DrainingProviders {
  readonly #context: Context;
  readonly #nodes: NodesByProvider;
  readonly #registry: PoolRegistry;
  readonly #draining = new Map<string, { readonly runner: ProviderRunner; readonly sinceMs: number }>();
  /** How many pools work for a provider, configured or not. */
  readonly #pools = new Map<string, number>();

  constructor(context: Context, nodes: NodesByProvider, registry: PoolRegistry) {
    this.#context = context;
    this.#nodes = nodes;
    this.#registry = registry;
  }

  get(name: string): ProviderRunner | undefined {
    return this.#draining.get(name)?.runner;
  }

  status(): DrainingStatus[] {
    return [...this.#draining].map(([provider, { sinceMs }]) => ({
      provider,
      nodes: this.#nodes.count(provider),
      sinceMs,
    }));
  }

  /** Takes a provider in. */
  add(runner: ProviderRunner): void {
    const { clock, logger } = this.#context;
    this.#draining.set(runner.name, { runner, sinceMs: clock.now() });
    const nodes = this.#nodes.count(runner.name);
    logger.info('Provider left the configuration; it drains', { provider: runner.name, nodes });
  }

  /** Hands a provider out that drains no more, e.g. because it is configured again. */
  take(name: string): ProviderRunner | undefined {
    const runner = this.get(name);
    this.#draining.delete(name);
    return runner;
  }

  takeAll(): ProviderRunner[] {
    return [...this.#draining.keys()].map((name) => this.take(name)).filter((runner) => runner !== undefined);
  }

  /** A pool works for the provider, until {@link endWork}. */
  beginWork(name: string): void {
    this.#pools.set(name, (this.#pools.get(name) ?? 0) + 1);
  }

  endWork(name: string): void {
    this.#pools.set(name, (this.#pools.get(name) ?? 0) - 1);
  }

  /** Hands out the provider if nothing is left to do for it. */
  takeDrained(name: string): ProviderRunner | undefined {
    if (!this.#draining.has(name) || this.#isWorkedFor(name) || this.#nodes.count(name) > 0) return undefined;
    this.#context.logger.info('Provider has drained: its nodes are gone', { provider: name });
    return this.take(name);
  }

  /** A periodic sweep: free nodes go. Hands out providers that other launchers look after, and those that have drained. */
  sweep(): ProviderRunner[] {
    const { clock, logger } = this.#context;
    const ended: (ProviderRunner | undefined)[] = [];
    for (const [name, { sinceMs }] of this.#draining) {
      if (clock.now() - sinceMs < SECOND_THOUGHTS_MS || this.#isWorkedFor(name)) continue;
      if (this.#registry.pools.some(({ providerName }) => providerName === name)) {
        logger.info('Provider is left to another launcher that has it', { provider: name });
        ended.push(this.take(name));
      } else {
        this.#releaseFree(name);
        ended.push(this.takeDrained(name));
      }
    }
    return ended.filter((runner) => runner !== undefined);
  }

  #isWorkedFor(name: string): boolean {
    return (this.#pools.get(name) ?? 0) > 0;
  }

  #releaseFree(name: string): void {
    const { nodes } = this.#context.mirror;
    for (const node of [...this.#nodes.of(name)]) {
      if (!isFree(node) || nodes.contenders(node.id) > 0) continue;
      void releaseNode(this.#context, node, 'its provider left the configuration');
    }
  }
}
