import { isIdle, type NodeRecord } from '@nodepool/zk-protocol';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import type { Levels } from './levels.js';
import { launchesLabel } from '../../launcher/plan/nodes.js';
import { RemainingQuota } from '../../launcher/plan/remaining-quota.js';
import type { Context } from '../../launcher/state/context.js';
import type { Part } from '../../launcher/state/part.js';
import { firstOf } from '../../text/first-of.js';
import type { PoolViews } from '../../launcher/view/pool-views.js';

/** Conditions of standby nodes. */
export const CONDITIONS = {
  StandbyMissing: {
    ...{ kind: 'label', severity: 'warning' },
    meaning: 'there are fewer standby nodes than min-ready or standby asks for, and not enough are being made',
    reasons: { TooFew: 'the message has the numbers' },
    nextStep:
      'where the message names what is used up: raise that limit, or keep fewer standby nodes; otherwise nodepool explain --label LABEL',
  },
} as const satisfies ConditionTypes;

/** A standby node that was taken is always missing for a moment. */
const PATIENCE_MS = 60_000;
/** Pools named in one message. */
const MOST_POOLS = 3;

/** Labels that have lacked standby nodes for a while. */
export class MissingNodes implements Part {
  readonly #context: Context;
  readonly #levels: Levels;
  readonly #views: Pick<PoolViews, 'all'>;
  readonly #lackingSinceMs = new Map<string, number>();

  constructor(context: Context, levels: Levels, views: Pick<PoolViews, 'all'>) {
    this.#context = context;
    this.#levels = levels;
    this.#views = views;
  }

  conditions(nowMs: number): FoundCondition[] {
    const { config, mirror } = this.#context;
    const labels = [...config.now.labels.keys()].filter((name) => this.#levels.wanted(name) > 0);
    const counts = countStandby(mirror.nodes.values(), new Set(labels));
    return labels.flatMap((name) => {
      const wanted = this.#levels.wanted(name);
      const { ready, coming } = counts.get(name) ?? NONE;
      if (ready + coming >= wanted) {
        this.#lackingSinceMs.delete(name);
        return [];
      }
      const sinceMs = this.#lackingSinceMs.get(name) ?? nowMs;
      this.#lackingSinceMs.set(name, sinceMs);
      if (nowMs - sinceMs < PATIENCE_MS) return [];
      const shortage = this.#shortage(name);
      const message = `it has ${ready} of ${wanted} standby nodes, and ${coming} are being made${shortage && `: ${shortage}`}`;
      const explain = `nodepool explain --label ${name}`;
      const nextStep = shortage ? `raise that limit, or keep fewer standby nodes; ${explain}` : explain;
      return [
        newCondition(CONDITIONS, 'StandbyMissing', {
          ...{ name, reason: 'TooFew', message, nextStep, sinceMs, evidence: { ready, coming } },
        }),
      ];
    });
  }

  /** What is used up in all pools that could launch nodes of the label, in words; empty if nothing is, or it is not known. */
  #shortage(label: string): string {
    const shortages = this.#views.all
      .filter((view) => launchesLabel(view, label))
      .map((view) => new RemainingQuota(view).findShortage(label, []));
    const texts = shortages.flatMap((found) => (found?.isKnown ? found.reason.text : []));
    return texts.length < shortages.length ? '' : firstOf([...new Set(texts)], MOST_POOLS, '; ');
  }
}

interface StandbyCount {
  readonly ready: number;
  readonly coming: number;
}

const NONE: StandbyCount = { ready: 0, coming: 0 };

function countStandby(nodes: Iterable<NodeRecord>, labels: ReadonlySet<string>): Map<string, StandbyCount> {
  const counts = new Map<string, StandbyCount>();
  for (const node of nodes) {
    const isReady = isIdle(node);
    if (!isReady && node.state !== 'init' && node.state !== 'building') continue;
    for (const label of node.labels) {
      if (!labels.has(label)) continue;
      const { ready, coming } = counts.get(label) ?? NONE;
      counts.set(label, isReady ? { ready: ready + 1, coming } : { ready, coming: coming + 1 });
    }
  }
  return counts;
}
