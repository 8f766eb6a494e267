import { isStandby, type NodeRecord } from '@nodepool/zk-protocol';
import type { ProviderSet } from '../providers/provider-set.js';
import type { Context } from '../state/context.js';
import { releaseNode } from '../state/expire-node.js';
import type { Standby } from './standby.js';

/** A node that has been free for less time stays: a request may be about to take it. */
const GRACE_MS = 60_000;

/**
 * Deletes free nodes above the computed number of standby nodes, the oldest first: nodes of launching providers of this launcher,
 * and only if each of their labels has too many.
 */
export class SurplusNodes {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #standby: Standby;

  constructor(context: Context, providers: ProviderSet, standby: Standby) {
    this.#context = context;
    this.#providers = providers;
    this.#standby = standby;
  }

  /** Marks surplus nodes for deletion. Resolves when all are marked, or found in use. */
  async sweep(): Promise<void> {
    const { config, mirror } = this.#context;
    const left = new Map<string, number>();
    for (const { name, standby } of config.now.labels.values())
      if (standby) left.set(name, this.#standby.surplus(name));
    if (![...left.values()].some((count) => count > 0)) return;
    const nodes = [...mirror.nodes.values()].filter((node) => this.#mayGo(node));
    // judged again for each one: a request may have taken a node, or the demand risen, while another was deleted
    const surplusOf = (label: string) => Math.min(left.get(label) ?? 0, this.#standby.surplus(label));
    for (const node of nodes.sort((a, b) => a.stateTimeMs - b.stateTimeMs)) {
      if (!node.labels.every((label) => surplusOf(label) > 0)) continue;
      for (const label of node.labels) left.set(label, (left.get(label) ?? 0) - 1);
      await releaseNode(this.#context, node, 'more standby nodes than the demand needs');
    }
  }

  #mayGo(node: NodeRecord): boolean {
    const { clock, mirror } = this.#context;
    if (!isStandby(node) || mirror.nodes.contenders(node.id) > 0) return false;
    if (clock.now() - node.stateTimeMs < GRACE_MS) return false;
    return this.#providers.runnerOf(node)?.launches === true;
  }
}
