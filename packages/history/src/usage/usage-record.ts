import type { Resources } from '@nodepool/zk-protocol';
import type { PastLine } from '../record/event.js';
import { isDemand } from '../record/requestors.js';
import { NodeLife, type RecordedNode, type Span } from './node-life.js';

/** The time of a node in one phase, within a window. */
export interface UsedTime extends Pick<Span, 'phase' | 'owner'> {
  readonly label: string;
  /** `provider/pool`. */
  readonly pool: string;
  readonly resources: Resources | undefined;
  readonly ms: number;
}

/** The window to account for, and the nodes that exist at its end. */
export interface UsageWindow {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Whether a node without a recorded end still exists; `undefined`: unknown. */
  readonly exists: (node: string) => boolean | undefined;
}

/** How far the record of usage can be trusted. */
export interface UsageLimits {
  /** Nodes without a recorded end that no longer exist: counted until their last event. */
  lostEnds: number;
  /** Nodes without a recorded end, of which it is unknown whether they exist: counted until the end of the history. */
  openEnds: number;
  /** Nodes whose resources are not recorded. */
  withoutResources: number;
}

const SKEW_MS = 1_000;

/** Merges the histories of launchers, line by line, and keeps what usage is computed from. */
export class UsageRecord {
  readonly #nodes = new Map<string, RecordedNode>();
  readonly #tenants = new Map<string, { readonly tenant: string | undefined }>();
  readonly #internal = new Set<string>();
  /** Times of the first and the last event. */
  fromMs = Infinity;
  toMs = -Infinity;
  /** When a clock went back, if one did. */
  clockWentBackMs: number | undefined;

  add(line: PastLine): void {
    if (line.kind === 'alive') return this.#reach(line.timeMs);
    for (const { timeMs } of line.events) this.#reach(timeMs);
    if (line.kind === 'node') return this.#addNode(line);
    if (!line.facts) return;
    if (!isDemand(line.facts)) this.#internal.add(line.id);
    else if (line.facts.tenant !== null) this.#tenants.set(line.id, { tenant: line.facts.tenant });
  }

  #reach(timeMs: number): void {
    this.fromMs = Math.min(this.fromMs, timeMs);
    this.toMs = Math.max(this.toMs, timeMs);
  }

  #addNode({ id, facts, isFirst, events }: Extract<PastLine, { kind: 'node' }>): void {
    let node = this.#nodes.get(id);
    if (!node) this.#nodes.set(id, (node = { label: '', pool: '', resources: undefined, events: [] }));
    if (isFirst === true) {
      const { labels, pool, resources } = facts;
      Object.assign(node, { label: labels[0] ?? '', pool, resources: resources ?? node.resources });
    }
    const { request, tenant } = facts;
    let lastMs = -Infinity;
    for (const { timeMs, what, rule, text } of events) {
      if (timeMs < lastMs - SKEW_MS) this.clockWentBackMs ??= timeMs;
      lastMs = timeMs;
      if (what !== 'error') node.events.push({ timeMs, what, rule, text, request, tenant });
    }
  }

  /**
   * The times of all nodes within a window.
   * @param limits - receives what is not known exactly
   */
  *times({ sinceMs, untilMs, exists }: UsageWindow, limits: UsageLimits): Generator<UsedTime> {
    for (const [id, { label, pool, resources, events }] of this.#nodes) {
      // several launchers record a static host: equal events follow each other and change nothing
      events.sort((a, b) => a.timeMs - b.timeMs);
      const { spans } = new NodeLife(events, (request) => this.#tenantOf(request));
      let isUsed = false;
      for (const { phase, owner, beginMs, endMs } of spans) {
        const knownMs = endMs ?? this.#endOf(exists(id), events.at(-1)?.timeMs ?? beginMs, untilMs, limits);
        const ms = Math.min(knownMs, untilMs) - Math.max(beginMs, sinceMs);
        if (ms <= 0) continue;
        isUsed = true;
        yield { phase, owner, label, pool, resources, ms };
      }
      if (isUsed && resources === undefined) limits.withoutResources++;
    }
  }

  #endOf(exists: boolean | undefined, lastMs: number, untilMs: number, limits: UsageLimits): number {
    if (exists === true) return untilMs;
    if (exists === undefined) {
      limits.openEnds++;
      return this.toMs;
    }
    limits.lostEnds++;
    return lastMs;
  }

  /** Requests of old launchers and of other ones are not on record: they count as those of a user. */
  #tenantOf(request: string): { readonly tenant: string | undefined } | undefined {
    if (this.#internal.has(request)) return undefined;
    return this.#tenants.get(request) ?? NO_TENANT;
  }
}

const NO_TENANT = { tenant: undefined };
