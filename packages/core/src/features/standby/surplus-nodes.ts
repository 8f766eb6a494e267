import { isIdle, isParked, type NodeRecord } from '@nodepool/zk-protocol';
import type { ProviderSet } from '../../launcher/providers/provider-set.js';
import type { Context } from '../../launcher/state/context.js';
import { tryToExpire } from '../../launcher/state/expire-node.js';
import type { Occasion, Part } from '../../launcher/state/part.js';
import { sinceWrittenMs, type ServerTime } from '../../launcher/state/server-clock.js';
import type { Levels, Surplus } from './levels.js';

/** A node that has been free for less time stays: a request may be about to take it. */
const GRACE_MS = 60_000;

/**
 * Deletes free nodes above the number to keep, parked ones first and then the oldest: nodes of launching providers of this launcher,
 * and only if each of their labels has too many.
 */
export class SurplusNodes implements Part {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #levels: Pick<Levels, 'surplus'>;
  readonly #serverClock: ServerTime;

  constructor(context: Context, providers: ProviderSet, levels: Pick<Levels, 'surplus'>, serverClock: ServerTime) {
    this.#context = context;
    this.#providers = providers;
    this.#levels = levels;
    this.#serverClock = serverClock;
  }

  /** Marks surplus nodes for deletion, each minute. Resolves when all are marked, or found in use. */
  async reconsider(occasion: Occasion): Promise<void> {
    if (occasion !== 'minute') return;
    const { config, mirror } = this.#context;
    const left = new Map<string, Surplus>();
    for (const name of config.now.labels.keys()) {
      const surplus = this.#levels.surplus(name);
      if (surplus.nodes > 0) left.set(name, surplus);
    }
    if (left.size === 0) return;
    const nodes = [...mirror.nodes.values()].filter((node) => this.#mayGo(node));
    for (const node of nodes.sort((a, b) => rank(a) - rank(b) || a.stateTimeMs - b.stateTimeMs)) {
      const running = isParked(node) ? 0 : 1;
      // judged again for each one: a request may have taken a node, or the demand risen, while another was deleted
      const isSurplus = (label: string) => [left.get(label), this.#levels.surplus(label)].every(holds(running));
      if (!node.labels.every(isSurplus)) continue;
      for (const label of node.labels) {
        const before = left.get(label);
        if (before) left.set(label, { nodes: before.nodes - 1, running: before.running - running });
      }
      await tryToExpire(this.#context, node, 'more standby nodes than the demand needs');
    }
  }

  #mayGo(node: NodeRecord): boolean {
    const { mirror } = this.#context;
    if (!isIdle(node) || mirror.nodes.contenders(node.id) > 0) return false;
    if (sinceWrittenMs(node, this.#serverClock) < GRACE_MS) return false;
    return this.#providers.runnerOf(node)?.launches === true;
  }
}

const rank = (node: NodeRecord) => (isParked(node) ? 0 : 1);

const holds = (running: 0 | 1) => (surplus: Surplus | undefined) =>
  surplus !== undefined && surplus.nodes > 0 && surplus.running >= running;
