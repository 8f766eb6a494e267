import type { Window } from './demand.js';
import type { RecordedUse } from './past.js';

/** How one request ended. */
export interface RequestResult {
  readonly labels: readonly string[];
  /** `open`: it still waited. */
  readonly outcome: 'fulfilled' | 'failed' | 'gone' | 'open';
  readonly waitedMs: number;
}

/** Results of the requests for one label. */
export interface LabelFigures {
  readonly requests: number;
  /** Median wait of the fulfilled requests; `undefined`: none was fulfilled. */
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
  /** Largest number of nodes in use at the same time. */
  readonly peak: number;
  readonly failed: number;
  readonly withdrawn: number;
  /** Requests that did not end. */
  readonly open: number;
}

/** Summarizes results by label. A request for several labels counts for each of them. */
export function figuresOf(
  results: readonly RequestResult[],
  uses: readonly RecordedUse[],
  window: Window,
): Map<string, LabelFigures> {
  const byLabel = new Map<string, RequestResult[]>();
  for (const result of results) {
    for (const label of new Set(result.labels)) {
      const list = byLabel.get(label);
      if (list) list.push(result);
      else byLabel.set(label, [result]);
    }
  }
  const peaks = peakUse(uses, window);
  return new Map(
    [...byLabel].map(([label, list]) => {
      const count = (outcome: RequestResult['outcome']) => list.filter((each) => each.outcome === outcome).length;
      const waits = list.flatMap(({ outcome, waitedMs }) => (outcome === 'fulfilled' ? [waitedMs] : []));
      waits.sort((a, b) => a - b);
      return [
        label,
        {
          ...{ requests: list.length, p50Ms: at(waits, 0.5), p95Ms: at(waits, 0.95), peak: peaks.get(label) ?? 0 },
          ...{ failed: count('failed'), withdrawn: count('gone'), open: count('open') },
        },
      ];
    }),
  );
}

/** Percentile by nearest rank. */
function at(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

function peakUse(uses: readonly RecordedUse[], { sinceMs, untilMs }: Window): Map<string, number> {
  const changes = uses
    .filter(({ request }) => request !== undefined)
    .flatMap(({ labels, beginMs, endMs = Infinity }) => [
      { atMs: beginMs, labels, sign: 1 },
      { atMs: endMs, labels, sign: -1 },
    ])
    .sort((a, b) => a.atMs - b.atMs || a.sign - b.sign);
  const used = new Map<string, number>();
  const most = new Map<string, number>();
  const note = (label: string) => most.set(label, Math.max(most.get(label) ?? 0, used.get(label) ?? 0));
  let hasBegun = false;
  for (const { atMs, labels, sign } of changes) {
    if (atMs > untilMs) break;
    if (!hasBegun && atMs >= sinceMs) {
      hasBegun = true;
      for (const label of used.keys()) note(label);
    }
    for (const label of labels) {
      used.set(label, (used.get(label) ?? 0) + sign);
      if (hasBegun) note(label);
    }
  }
  return most;
}
