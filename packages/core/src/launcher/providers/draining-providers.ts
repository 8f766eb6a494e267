import { isFree, type NodeRecord } from '@nodepool/zk-protocol';
import type { NodeRemoval } from '../mirror/ports.js';
import type { Services } from '../mirror/services.js';
import type { ProviderRunner } from './provider-runner.js';

/** A provider that left the configuration and still has nodes. */
export interface DrainingStatus {
  readonly provider: string;
  /** Its nodes that are not gone yet. */
  readonly nodes: number;
  /** When it left, ms since the epoch. */
  readonly sinceMs: number;
}

/** What draining learns from the launcher around it. */
export interface DrainingPort extends NodeRemoval {
  nodesOf(provider: string): Iterable<NodeRecord>;
  /** Requests are still being worked on for the provider. */
  isWorkedFor(provider: string): boolean;
  /** Another launcher has a pool of the provider. */
  isServedElsewhere(provider: string): boolean;
  /** Nothing is left to do for it. */
  ended(runner: ProviderRunner): void;
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
  readonly #services: Services;
  readonly #port: DrainingPort;
  readonly #draining = new Map<string, { readonly runner: ProviderRunner; readonly sinceMs: number }>();

  constructor(services: Services, port: DrainingPort) {
    this.#services = services;
    this.#port = port;
  }

  get(name: string): ProviderRunner | undefined {
    return this.#draining.get(name)?.runner;
  }

  status(): DrainingStatus[] {
    return [...this.#draining].map(([provider, { sinceMs }]) => ({
      provider,
      nodes: [...this.#port.nodesOf(provider)].length,
      sinceMs,
    }));
  }

  /** Takes a provider in; {@link look} at it once it knows. */
  add(runner: ProviderRunner): void {
    const { clock, logger } = this.#services;
    this.#draining.set(runner.name, { runner, sinceMs: clock.now() });
    const nodes = [...this.#port.nodesOf(runner.name)].length;
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

  /** Ends a provider that has nothing left. */
  look(name: string): void {
    if (!this.#draining.has(name) || this.#port.isWorkedFor(name)) return;
    for (const _node of this.#port.nodesOf(name)) return;
    this.#end(name, 'Provider has drained: its nodes are gone');
  }

  /** A periodic sweep: free nodes go, and what other launchers look after is left to them. */
  sweep(): void {
    const { clock } = this.#services;
    for (const [name, { sinceMs }] of this.#draining) {
      if (clock.now() - sinceMs < SECOND_THOUGHTS_MS || this.#port.isWorkedFor(name)) continue;
      if (this.#port.isServedElsewhere(name)) this.#end(name, 'Provider is left to another launcher that has it');
      else this.#releaseFree(name);
      this.look(name);
    }
  }

  #releaseFree(name: string): void {
    const { nodes } = this.#services.mirror;
    for (const node of [...this.#port.nodesOf(name)]) {
      if (isFree(node) && nodes.contenders(node.id) === 0)
        this.#port.releaseNode(node, 'its provider left the configuration');
    }
  }

  #end(name: string, text: string): void {
    const runner = this.take(name);
    if (!runner) return;
    this.#services.logger.info(text, { provider: name });
    this.#port.ended(runner);
  }
}
