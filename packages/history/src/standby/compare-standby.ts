import type { StandbySettings } from '@nodepool/core/config';
import {
  figuresOf,
  meets,
  playConstant,
  playSettings,
  quantile,
  settingsFor,
  type ComparedScene,
  type StandbyFigures,
  type StandbyGoal,
} from './play-settings.js';
import type { StandbyResult, StandbyScene } from './play-standby.js';
import { searchSchedule } from './search-schedule.js';

/** What different numbers of standby nodes would have given. */
export interface StandbyComparison {
  /** The largest need of the last hour. */
  readonly follow: StandbyFigures;
  /** The schedule that {@link searchSchedule} finds in the time before, and the last hour. */
  readonly schedule: StandbyFigures;
  /** `auto`, made at each moment from the time before it. */
  readonly auto: StandbyFigures;
  /** The smallest constant number that meets the goal, chosen with hindsight. */
  readonly constant: StandbyFigures;
  /** A bound: knows each request in advance, and how long launches take at a time, but not each launch. */
  readonly clairvoyant: StandbyFigures;
}

/** Plays a label in different ways. */
export function compareStandby(scene: ComparedScene, goal: StandbyGoal): StandbyComparison {
  const played = (settings: StandbySettings) => playSettings(scene, goal, { settings, minReady: 0 });
  return {
    follow: played(settingsFor(goal, {})),
    schedule: played(searchSchedule(beforeOf(scene), goal)),
    auto: played(settingsFor(goal, { auto: true })),
    constant: playBestConstant(scene, goal),
    clairvoyant: figuresOf(foresee(scene), goal),
  };
}

/** The two weeks before a scene, of which a schedule is made. */
function beforeOf(scene: ComparedScene): ComparedScene {
  const sinceMs = Math.max(scene.knownSinceMs, scene.sinceMs - 14 * 86_400_000);
  const arrivals = scene.before.filter(({ atMs }) => atMs >= sinceMs);
  const before = scene.before.filter(({ atMs }) => atMs < sinceMs);
  return { ...scene, sinceMs, untilMs: scene.sinceMs, arrivals, before };
}

/** The smallest number that meets the goal; more nodes never wait longer. */
function playBestConstant(scene: StandbyScene, goal: StandbyGoal): StandbyFigures {
  const play = (nodes: number) => playConstant(scene, goal, nodes);
  let [low, high] = [0, goal.atMost];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (meets(play(middle), goal)) high = middle;
    else low = middle + 1;
  }
  return play(low);
}

const MARGIN_STEP_MS = 10_000;
const LONGEST_MARGIN_MS = 6 * 3_600_000;
/** Launches that begin at these distances show how long one takes at a time. */
const NEAR_MS = Array.from({ length: 21 }, (_, i) => (i - 10) * 30_000);

/** Begins each launch as late as it can, so that 95 of 100 launches of that time would be ready. */
function foresee({ arrivals, bootMs }: StandbyScene): StandbyResult {
  let [idleMs, bootsMs] = [0, 0];
  const waitsMs = arrivals.map(({ atMs, nodes }) => {
    let marginMs = MARGIN_STEP_MS;
    while (marginMs < LONGEST_MARGIN_MS && usualAt(atMs - marginMs, bootMs) > marginMs) marginMs += MARGIN_STEP_MS;
    const tookMs = bootMs(atMs - marginMs);
    bootsMs += tookMs * nodes;
    idleMs += Math.max(0, marginMs - tookMs) * nodes;
    return Math.max(0, tookMs - marginMs);
  });
  return { waitsMs, idleHours: idleMs / 3_600_000, bootHours: bootsMs / 3_600_000, unused: 0 };
}

function usualAt(atMs: number, bootMs: (atMs: number) => number): number {
  return quantile(
    NEAR_MS.map((distanceMs) => bootMs(atMs + distanceMs)),
    0.95,
  );
}
