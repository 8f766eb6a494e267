import { localTimeOf } from '@nodepool/core/config';
import { SLOT_MS, SLOTS_AN_HOUR, type LabelDemand } from './demand.js';

/** Slots that a fit looks at: four weeks. */
export const FITTED_SLOTS = (28 * 86_400_000) / SLOT_MS;
/** More are kept than are used: a clock that was wrong for a while makes none of them too old. */
export const KEPT_SLOTS = 2 * FITTED_SLOTS;
/** Served in percent more than the goal, for what was never seen before. */
const MARGIN = 1;

/** Demand of one hour of the day, on days of work or on weekends. */
interface HourPast {
  /** How often the hour was counted. */
  hours: number;
  requests: number;
  /** Requests by their need: index 0 are those that need one node. */
  readonly needs: number[];
}

/** Standby nodes of each hour of days of work and of weekends, at a time in ms since the epoch. */
export type Fit = (atMs: number) => HourFit;

/** Standby nodes of one hour. */
export interface HourFit {
  readonly nodes: number;
  /** Requests of such an hour on average; 0 if none was counted. */
  readonly requests: number;
  readonly isWeekend: boolean;
  readonly hour: number;
}

/**
 * Fits the standby nodes of the hours of days of work and of weekends to the last four weeks: the least idle time with which so many
 * requests would have been served at once.
 * @param isKnown - whether demand was counted during a slot
 * @param goal - percent of requests
 */
export function fitHours(
  demand: LabelDemand,
  isKnown: (slot: number) => boolean,
  before: number,
  { timeZone, goal, atMost }: { readonly timeZone: string; readonly goal: number; readonly atMost: number },
): Fit {
  const past = Array.from({ length: 48 }, (): HourPast => ({ hours: 0, requests: 0, needs: [] }));
  for (let slot = before - FITTED_SLOTS; slot < before; slot++) {
    if (!isKnown(slot)) continue;
    const hour = past[hourOf(timeZone, slot * SLOT_MS)];
    if (!hour) continue;
    hour.hours += 1 / SLOTS_AN_HOUR;
    for (const [at, count] of demand.needsOf(slot).entries()) {
      hour.needs[at] = (hour.needs[at] ?? 0) + count;
      hour.requests += count;
    }
  }
  const nodes = cheapest(past, Math.min(100, goal + MARGIN) / 100, atMost);
  return (atMs) => {
    const at = hourOf(timeZone, atMs);
    const { requests = 0, hours = 0 } = past[at] ?? {};
    return {
      ...{ nodes: nodes[at] ?? 0, requests: hours > 0 ? requests / hours : 0 },
      ...{ isWeekend: at >= 24, hour: at % 24 },
    };
  };
}

/** 0 to 23 on days of work, 24 to 47 on weekends. */
function hourOf(timeZone: string, atMs: number): number {
  const { day, minute } = localTimeOf(timeZone, atMs);
  return Math.floor(minute / 60) + (day % 6 === 0 ? 24 : 0);
}

/** More nodes of an hour. */
interface Step {
  readonly at: number;
  readonly nodes: number;
  readonly served: number;
  /** Requests served more, by hour of a node that is kept for them. */
  readonly worth: number;
}

/** Takes the steps that serve most for the hours that they cost, until enough is served. @param share - of all requests, 0 to 1 */
function cheapest(past: readonly HourPast[], share: number, atMost: number): number[] {
  const steps = past.flatMap((hour, at) => stepsOf(hour, at, atMost)).sort((a, b) => b.worth - a.worth);
  const nodes = past.map(() => 0);
  let missing = share * past.reduce((sum, { requests }) => sum + requests, 0);
  for (const step of steps) {
    if (missing <= 0) break;
    nodes[step.at] = step.nodes;
    missing -= step.served;
  }
  return nodes;
}

/** The numbers of nodes of one hour that are worth most, each more than the one before, and each less worth. */
function stepsOf({ hours, needs }: HourPast, at: number, atMost: number): Step[] {
  const steps: Step[] = [];
  for (let nodes = 0; nodes < Math.min(needs.length, atMost);) {
    let [best, served]: [Step | undefined, number] = [undefined, 0];
    for (let next = nodes + 1; next <= Math.min(needs.length, atMost); next++) {
      served += needs[next - 1] ?? 0;
      const worth = served / ((next - nodes) * hours);
      if (worth > (best?.worth ?? 0)) best = { at, nodes: next, served, worth };
    }
    if (!best) break;
    steps.push(best);
    nodes = best.nodes;
  }
  return steps;
}
