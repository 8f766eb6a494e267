import type { StandbySettings } from '@nodepool/core/config';
import { compareStandby, type StandbyComparison } from '../standby/compare-standby.js';
import { playSettings, waitFigures, type StandbyFigures, type StandbyGoal } from '../standby/play-settings.js';
import type { Window } from './demand.js';
import type { Past } from './past.js';
import { scenesOf, type LabelScene } from './standby-scenes.js';

/** What standby nodes of one label gave, and what other numbers would have given. */
export interface StandbyReplay extends StandbyComparison {
  readonly label: string;
  /** As it was. */
  readonly recorded: StandbyFigures;
  /** With the configuration; `undefined`: it does not have the label. */
  readonly configured: StandbyFigures | undefined;
}

/** The configuration of a label. */
export interface StandbyOfLabel {
  readonly settings: StandbySettings | undefined;
  readonly minReady: number;
}

/** Replays the standby nodes of each label over the recorded requests of the window. */
export function replayStandby(
  past: Past,
  window: Window,
  goalOf: (label: string) => StandbyGoal,
  labelOf: (label: string) => StandbyOfLabel | undefined,
): StandbyReplay[] {
  return [...scenesOf(past, window)].map((scene) => {
    const [goal, label] = [goalOf(scene.label), labelOf(scene.label)];
    return {
      ...{ label: scene.label, recorded: recordedFigures(scene, goal) },
      configured: label && playSettings(scene, goal, label),
      ...compareStandby(scene, goal),
    };
  });
}

/** What the standby nodes of a label gave, as it was. */
export function recordedFigures(
  { label, requests, standby, sinceMs, untilMs }: LabelScene,
  goal: StandbyGoal,
): StandbyFigures {
  const waits = requests.flatMap(({ outcome, createdMs, endMs }) =>
    outcome === 'fulfilled' && endMs !== undefined ? [Math.max(0, endMs - createdMs)] : [],
  );
  let idleMs = 0;
  for (const { labels, launchEndedMs, launched, beginMs, endMs = untilMs, deletingMs = endMs } of standby) {
    if (!labels.includes(label) || launched === 'failed' || launched === 'aborted') continue;
    const readyMs = launchEndedMs ?? beginMs;
    idleMs += Math.max(0, Math.min(endMs, deletingMs, untilMs) - Math.max(readyMs, sinceMs));
  }
  const own = { idleHours: idleMs / 3_600_000, bootHours: undefined, unused: undefined, nodes: undefined };
  return { ...waitFigures(waits, goal), requests: requests.length, ...own };
}
