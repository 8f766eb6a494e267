import type { StandbySettings } from '@nodepool/core/config';
import { slotOf, SLOT_MS, type Arrival } from './demand.js';
import { FITTED_SLOTS } from './fit.js';
import { LabelStandby } from './label-standby.js';
import { playStandby, type StandbyPolicy, type StandbyResult, type StandbyScene } from './play-standby.js';

/** Waits of the requests for a label, and what its standby nodes cost. */
export interface StandbyFigures {
  readonly requests: number;
  /** Share of the requests that waited no longer than the goal says, 0 to 1. */
  readonly atOnce: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Of all requests together. */
  readonly waitHours: number;
  readonly idleHours: number;
  /** Node-hours of launches; `undefined`: not counted. */
  readonly bootHours: number | undefined;
  /** Number of nodes deleted without use; `undefined`: not counted. */
  readonly unused: number | undefined;
  /** Standby nodes kept; `undefined`: they changed. */
  readonly nodes: number | undefined;
}

/** What standby nodes are to give. */
export interface StandbyGoal {
  /** Percent of requests to serve at once. */
  readonly goal: number;
  /** A wait up to this counts as none. */
  readonly targetWaitMs: number;
  readonly atMost: number;
  /** IANA name. */
  readonly timeZone: string;
}

/** The time to compare, and the demand and launches before it. */
export interface ComparedScene extends StandbyScene {
  readonly before: readonly Arrival[];
  /** When the record of the label begins. */
  readonly knownSinceMs: number;
  /** Finished launches in order of time, also those before. */
  readonly launches: readonly { readonly endedMs: number; readonly tookMs: number }[];
}

/** The settings that `auto`, `follow` or a schedule alone stands for. */
export function settingsFor(goal: StandbyGoal, settings: Partial<StandbySettings>): StandbySettings {
  const { timeZone, atMost } = goal;
  return { schedule: [], followMs: 3_600_000, auto: false, goal: goal.goal, timeZone, atMost, ...settings };
}

/** What settings of a label would have given. */
export function playSettings(
  scene: ComparedScene,
  goal: StandbyGoal,
  label: { readonly settings: StandbySettings | undefined; readonly minReady: number },
): StandbyFigures {
  const { settings, minReady } = label;
  if (!settings) return playConstant(scene, goal, minReady);
  return figuresOf(playStandby(scene, policyOf(scene, settings, minReady)), goal);
}

/** The settings as a launcher keeps to them: at each moment from the demand before. */
function policyOf(scene: ComparedScene, settings: StandbySettings, minReady: number): StandbyPolicy {
  const known = new Set<number>();
  const label = new LabelStandby(known);
  label.counts(scene.knownSinceMs);
  let [booted, knownTo] = [0, slotOf(scene.knownSinceMs + SLOT_MS - 1)];
  const pass = (atMs: number) => {
    for (let next = scene.launches[booted]; next && next.endedMs < atMs; next = scene.launches[++booted])
      label.booted(next.tookMs);
    for (const slot = slotOf(atMs); knownTo < slot; knownTo++) {
      known.add(knownTo);
      known.delete(knownTo - FITTED_SLOTS - 1);
    }
  };
  for (const arrival of scene.before) {
    pass(arrival.atMs);
    label.asked(arrival);
  }
  return {
    asked: (arrival) => label.asked(arrival),
    levelAt(atMs, free) {
      pass(atMs);
      return label.decide(atMs, { settings, minReady, free }).nodes;
    },
  };
}

/** Whether so many requests as the goal says did not wait. */
export function meets({ atOnce }: StandbyFigures, { goal }: StandbyGoal): boolean {
  return 100 * atOnce >= goal;
}

/** What a constant number of nodes would have given. */
export function playConstant(scene: StandbyScene, goal: StandbyGoal, nodes: number): StandbyFigures {
  return { ...figuresOf(playStandby(scene, { levelAt: () => nodes }), goal), nodes };
}

/** The figures of a result. */
export function figuresOf({ waitsMs, idleHours, bootHours, unused }: StandbyResult, goal: StandbyGoal): StandbyFigures {
  return { ...waitFigures(waitsMs, goal), idleHours, bootHours, unused, nodes: undefined };
}

/** Number, share without a wait, percentiles and sum of waits. */
export function waitFigures(waitsMs: readonly number[], { targetWaitMs }: Pick<StandbyGoal, 'targetWaitMs'>) {
  const atOnce = waitsMs.filter((ms) => ms <= targetWaitMs).length;
  return {
    ...{ requests: waitsMs.length, atOnce: waitsMs.length === 0 ? 1 : atOnce / waitsMs.length },
    ...{ p50Ms: quantile(waitsMs, 0.5), p95Ms: quantile(waitsMs, 0.95), p99Ms: quantile(waitsMs, 0.99) },
    waitHours: waitsMs.reduce((sum, ms) => sum + ms, 0) / 3_600_000,
  };
}

/** Percentile by nearest rank; 0 if there is none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
