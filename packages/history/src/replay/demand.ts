import type { Past, RecordedRequest, RecordedUse } from './past.js';

/** Requests of launchers themselves: they ask anew in the replay. */
const OURS = 'NodePool:';
/** Of people at a terminal. */
const PEOPLE = 'NodePool:cli:';
/** How long nodes are used where the record never says. */
const USUAL_USE_MS = 5 * 60_000;
const DEFAULT_PRIORITY = 200;

/** A time that is looked at. */
export interface Window {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** One request as it is asked for again. */
export interface DemandedRequest {
  /** Its id on record. */
  readonly id: string;
  readonly createdMs: number;
  readonly labels: readonly string[];
  /** First part of its id. */
  readonly priority: number;
  readonly relativePriority: number;
  readonly provider: string | null;
  readonly tenant: string | null;
  readonly requestor: string | null;
  /** For how long its nodes are used. */
  readonly useMs: number;
  /** It is withdrawn should it wait for so long. */
  readonly patienceMs: number | undefined;
  /** It began within the time that is looked at; the others only hold nodes then. */
  readonly counts: boolean;
}

/** What was asked for, in the order of time. */
export function demandOf(past: Past, window: Window): DemandedRequest[] {
  const lasted = useTimes(past.uses);
  const asked = past.requests.filter((request) => isDemand(request) && request.createdMs <= window.untilMs);
  const usual = usualUses(asked, lasted);
  const demand = asked.flatMap((request) => {
    const useMs = useOf(request, lasted.get(request.id), usual, past.toMs);
    const counts = request.createdMs >= window.sinceMs;
    const isThere = (request.endMs ?? Infinity) + (request.outcome === 'fulfilled' ? useMs : 0) >= window.sinceMs;
    return counts || isThere ? [asDemand(request, useMs, counts)] : [];
  });
  return demand.sort((a, b) => a.createdMs - b.createdMs);
}

/** Whether others than launchers have asked for it. */
export function isDemand({ requestor }: RecordedRequest): boolean {
  return requestor?.startsWith(OURS) !== true || requestor.startsWith(PEOPLE);
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
  // still in use at the end of the record: at least for so long
  return outcome === 'fulfilled' && endMs !== undefined ? Math.max(usualMs, nowMs - endMs) : usualMs;
}
