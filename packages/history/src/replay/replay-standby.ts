import {
  compareStandby,
  waitFigures,
  type StandbyComparison,
  type StandbyFigures,
} from '../standby/compare-standby.js';
import type { StandbyGoal } from '../standby/forecast.js';
import type { Window } from './demand.js';
import type { Past } from './past.js';
import { scenesOf, type LabelScene } from './standby-scenes.js';

/** What standby nodes of one label gave, and what other numbers would have given. */
export interface StandbyReplay extends Omit<StandbyComparison, 'waitsMs'> {
  readonly label: string;
  /** As it was. */
  readonly recorded: StandbyFigures;
}

/** Goal of a label and its `min-ready`, which applies where there is no forecast. */
export interface StandbyOfLabel {
  readonly goal: StandbyGoal;
  readonly minReady: number;
}

/** Replays the standby nodes of each label over the recorded requests of the window. */
export function replayStandby(
  past: Past,
  window: Window,
  settingsOf: (label: string) => StandbyOfLabel,
): StandbyReplay[] {
  return [...scenesOf(past, window)].map((scene) => {
    const { goal, minReady } = settingsOf(scene.label);
    const { auto, constant, clairvoyant } = compareStandby(scene, goal, minReady);
    return { label: scene.label, recorded: recordedFigures(scene), auto, constant, clairvoyant };
  });
}

/** What the standby nodes of a label gave, as it was. */
export function recordedFigures({ label, requests, standby, sinceMs, untilMs }: LabelScene): StandbyFigures {
  const waits = requests.flatMap(({ outcome, createdMs, endMs }) =>
    outcome === 'fulfilled' && endMs !== undefined ? [Math.max(0, endMs - createdMs)] : [],
  );
  let idleMs = 0;
  for (const { labels, launchEndedMs, launched, beginMs, endMs = untilMs, deletingMs = endMs } of standby) {
    if (!labels.includes(label) || launched === 'failed' || launched === 'aborted') continue;
    const readyMs = launchEndedMs ?? beginMs;
    idleMs += Math.max(0, Math.min(endMs, deletingMs, untilMs) - Math.max(readyMs, sinceMs));
  }
  return { requests: requests.length, ...waitFigures(waits), idleHours: idleMs / 3_600_000, nodes: undefined };
}
