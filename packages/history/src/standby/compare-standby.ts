import { slotOf, SLOT_MS, type Arrival } from './demand.js';
import { REMEMBERED_SLOTS, type StandbyGoal } from './forecast.js';
import { LabelForecast } from './label-forecast.js';
import { playStandby, type StandbyResult, type StandbyScene } from './play-standby.js';

/** Waits of the requests for a label, and its idle node-hours. */
export interface StandbyFigures {
  readonly requests: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly idleHours: number;
  /** Standby nodes kept; `undefined`: they changed. */
  readonly nodes: number | undefined;
}

/** What different numbers of standby nodes would have given. */
export interface StandbyComparison {
  /** The forecast, made at each moment from the time before it. */
  readonly auto: StandbyFigures;
  /** The smallest constant number that meets the goal, chosen with hindsight. */
  readonly constant: StandbyFigures;
  /** A bound: knows each request in advance, and how long launches take at a time, but not each launch. */
  readonly clairvoyant: StandbyFigures;
  /** Waits of auto and of the constant, to add up several labels. */
  readonly waitsMs: { readonly auto: readonly number[]; readonly constant: readonly number[] };
}

/** The time to compare, and the demand and launches before it. */
export interface ComparedScene extends StandbyScene {
  readonly before: readonly Arrival[];
  /** When the record of the label begins. */
  readonly knownSinceMs: number;
  /** Finished launches in order of time, also those before. */
  readonly launches: readonly { readonly endedMs: number; readonly tookMs: number }[];
}

const SHARE = 0.95;

/** Plays a label with the forecast, with the best constant, and for a clairvoyant. */
export function compareStandby(scene: ComparedScene, goal: StandbyGoal, minReady: number): StandbyComparison {
  const auto = playStandby(scene, forecastOf(scene, goal, minReady));
  const { nodes, result } = bestConstant(scene, goal);
  return {
    auto: figuresOf(auto, undefined),
    constant: figuresOf(result, nodes),
    clairvoyant: figuresOf(foresee(scene), undefined),
    waitsMs: { auto: auto.waitsMs, constant: result.waitsMs },
  };
}

/** The forecast as a launcher makes it: at each moment from the demand before. */
function forecastOf(scene: ComparedScene, goal: StandbyGoal, minReady: number): (atMs: number) => number {
  const known = new Set<number>();
  const forecast = new LabelForecast(known);
  const arrivals = [...scene.before, ...scene.arrivals];
  let [asked, booted, knownTo] = [0, 0, slotOf(scene.knownSinceMs + SLOT_MS - 1)];
  return (atMs) => {
    const slot = slotOf(atMs);
    for (; knownTo < slot; knownTo++) {
      const endMs = (knownTo + 1) * SLOT_MS;
      for (let next = scene.launches[booted]; next && next.endedMs < endMs; next = scene.launches[++booted])
        forecast.booted(next.tookMs);
      for (let next = arrivals[asked]; next && next.atMs < endMs; next = arrivals[++asked]) forecast.asked(next);
      known.add(knownTo);
      known.delete(knownTo - REMEMBERED_SLOTS - 1);
    }
    return forecast.decide(atMs, goal, minReady).nodes;
  };
}

/** The smallest number that meets the goal; more nodes never wait longer. For a budget: the largest one that keeps to it. */
function bestConstant(scene: StandbyScene, goal: StandbyGoal): { nodes: number; result: StandbyResult } {
  const play = (nodes: number) => playStandby(scene, () => nodes);
  const { idleBudget, targetWaitMs = 0 } = goal;
  const days = (scene.untilMs - scene.sinceMs) / 86_400_000;
  const isEnough = (result: StandbyResult) =>
    idleBudget === undefined ? quantile(result.waitsMs, SHARE) <= targetWaitMs : result.idleHours / days > idleBudget;
  let [low, high] = [0, goal.atMost];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isEnough(play(middle))) high = middle;
    else low = middle + 1;
  }
  const nodes = idleBudget !== undefined && low > 0 && isEnough(play(low)) ? low - 1 : low;
  return { nodes, result: play(nodes) };
}

const MARGIN_STEP_MS = 10_000;
const LONGEST_MARGIN_MS = 6 * 3_600_000;
/** Launches that begin at these distances show how long one takes at a time. */
const NEAR_MS = Array.from({ length: 21 }, (_, i) => (i - 10) * 30_000);

/** Begins each launch as late as it can, so that 95 of 100 launches of that time would be ready. */
function foresee({ arrivals, bootMs }: StandbyScene): StandbyResult {
  let [idleMs, launches] = [0, 0];
  const waitsMs = arrivals.map(({ atMs, nodes }) => {
    let marginMs = MARGIN_STEP_MS;
    while (marginMs < LONGEST_MARGIN_MS && usualAt(atMs - marginMs, bootMs) > marginMs) marginMs += MARGIN_STEP_MS;
    const earlyMs = marginMs - bootMs(atMs - marginMs);
    launches += nodes;
    idleMs += Math.max(0, earlyMs) * nodes;
    return Math.max(0, -earlyMs);
  });
  return { waitsMs, idleHours: idleMs / 3_600_000, launches };
}

function usualAt(atMs: number, bootMs: (atMs: number) => number): number {
  return quantile(
    NEAR_MS.map((distanceMs) => bootMs(atMs + distanceMs)),
    SHARE,
  );
}

/** What a constant number of nodes would have given. */
export function playConstant(scene: StandbyScene, nodes: number): StandbyFigures {
  return figuresOf(
    playStandby(scene, () => nodes),
    nodes,
  );
}

function figuresOf({ waitsMs, idleHours }: StandbyResult, nodes: number | undefined): StandbyFigures {
  return { requests: waitsMs.length, ...waitFigures(waitsMs), idleHours, nodes };
}

/** The percentiles of waits. */
export function waitFigures(waitsMs: readonly number[]): Pick<StandbyFigures, 'p50Ms' | 'p95Ms' | 'p99Ms'> {
  return { p50Ms: quantile(waitsMs, 0.5), p95Ms: quantile(waitsMs, SHARE), p99Ms: quantile(waitsMs, 0.99) };
}

/** Percentile by nearest rank; 0 if there is none. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
