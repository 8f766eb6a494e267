import type { NodeRecord, RecordChange, RequestRecord } from '@nodepool/zk-protocol';
import { createdMs } from './records.js';

/** Number of waits remembered for each label. */
const REMEMBERED = 20;

/** How long requests waited for a label when no node was ready: requests of all launchers, since this one started. */
export class LabelWaits {
  readonly #waitsMs = new Map<string, number[]>();

  /**
   * Remembers the wait of a request that was fulfilled with a node made after it. Requests for several labels do not count, as
   * they wait for the slowest one.
   * @param nodes - those known
   */
  requestChanged(
    { before, after }: Pick<RecordChange<RequestRecord>, 'before' | 'after'>,
    nodes: { get(id: string): NodeRecord | undefined },
  ): void {
    if (after?.state !== 'fulfilled' || before === undefined || before.state === 'fulfilled') return;
    const [label, ...others] = new Set(after.labels);
    const askedMs = createdMs(after);
    if (label === undefined || others.length > 0 || askedMs === null) return;
    if (!after.nodeIds.some((id) => (nodes.get(id)?.createdTimeMs ?? 0) > askedMs)) return;
    const waits = this.#waitsMs.get(label) ?? [];
    waits.push(Math.max(0, after.stateTimeMs - askedMs));
    this.#waitsMs.set(label, waits.slice(-REMEMBERED));
  }

  /** Median of the last waits for a label, milliseconds; `undefined` if none is known. */
  usualMs(label: string): number | undefined {
    const sorted = [...(this.#waitsMs.get(label) ?? [])].sort((a, b) => a - b);
    return sorted[(sorted.length - 1) >>> 1];
  }
}
