import { isDemand } from '../record/requestors.js';
import type { Past, RecordedRequest, RecordedUse } from './past.js';

/** Time of use for labels without a recorded one. */
const USUAL_USE_MS = 5 * 60_000;
const DEFAULT_PRIORITY = 200;

/** The period to replay. */
export interface Window {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** A recorded request to submit again. */
export interface DemandedRequest {
  /** Its recorded id. */
  readonly id: string;
  readonly createdMs: number;
  readonly labels: readonly string[];
  /** The first part of its id. */
  readonly priority: number;
  readonly relativePriority: number;
  readonly provider: string | null;
  readonly tenant: string | null;
  readonly requestor: string | null;
  /** For how long its nodes are used. */
  readonly useMs: number;
  /** The request is withdrawn after waiting this long. */
  readonly patienceMs: number | undefined;
  /** Whether it was submitted within the window. Earlier requests are replayed because they still held nodes then. */
  readonly counts: boolean;
}

/** The requests to submit again, in the order of their creation. */
export function demandOf(past: Past, window: Window): DemandedRequest[] {
  const lasted = useTimes(past.uses);
  const asked = past.requests.filter((request) => isDemand(request) && request.createdMs <= window.untilMs);
  const usual = usualUses(asked, lasted);
  const demand = asked.flatMap((request) => {
    const useMs = useOf(request, lasted.get(request.id), usual, past.toMs);
    const counts = request.createdMs >= window.sinceMs;
    const holdsNodes = (request.endMs ?? Infinity) + (request.outcome === 'fulfilled' ? useMs : 0) >= window.sinceMs;
    return counts || holdsNodes ? [asDemand(request, useMs, counts)] : [];
  });
  return demand.sort((a, b) => a.createdMs - b.createdMs);
}

function asDemand(request: RecordedRequest, useMs: number, counts: boolean): DemandedRequest {
  const { id, createdMs, labels, tenant, requestor, relativePriority = 0, provider = null } = request;
  const priority = Number.parseInt(id, 10);
  const isWithdrawn = request.outcome === 'gone' && request.endMs !== undefined;
  return {
    ...{ id, createdMs, labels, tenant, requestor, relativePriority, provider, useMs, counts },
    priority: Number.isNaN(priority) ? DEFAULT_PRIORITY : priority,
    patienceMs: isWithdrawn ? Math.max(0, (request.endMs ?? createdMs) - createdMs) : undefined,
  };
}

/** When the last node of each request was given back. */
function useTimes(uses: readonly RecordedUse[]): Map<string, number> {
  const ended = new Map<string, number>();
  for (const { request, usedMs, deletingMs, goneMs } of uses) {
    const endMs = usedMs ?? deletingMs ?? goneMs;
    if (request === undefined || endMs === undefined) continue;
    ended.set(request, Math.max(ended.get(request) ?? 0, endMs));
  }
  return ended;
}

/** The median time of use by label. */
function usualUses(requests: readonly RecordedRequest[], lasted: ReadonlyMap<string, number>): Map<string, number> {
  const times = new Map<string, number[]>();
  for (const { id, labels, outcome, endMs } of requests) {
    const backMs = lasted.get(id);
    if (outcome !== 'fulfilled' || endMs === undefined || backMs === undefined || backMs < endMs) continue;
    for (const label of new Set(labels)) {
      const list = times.get(label);
      if (list) list.push(backMs - endMs);
      else times.set(label, [backMs - endMs]);
    }
  }
  return new Map([...times].map(([label, list]) => [label, list.sort((a, b) => a - b)[list.length >> 1] ?? 0]));
}

function useOf(
  { labels, outcome, endMs }: RecordedRequest,
  backMs: number | undefined,
  usual: ReadonlyMap<string, number>,
  nowMs: number,
): number {
  if (outcome === 'fulfilled' && endMs !== undefined && backMs !== undefined && backMs >= endMs) return backMs - endMs;
  const usualMs = Math.max(0, ...labels.map((label) => usual.get(label) ?? USUAL_USE_MS));
  // nodes still in use at the end of the history were used at least until then
  return outcome === 'fulfilled' && endMs !== undefined ? Math.max(usualMs, nowMs - endMs) : usualMs;
}
