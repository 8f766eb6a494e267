import {
  compareStandby,
  waitFigures,
  type StandbyComparison,
  type StandbyFigures,
} from '../standby/compare-standby.js';
import type { Arrival } from '../standby/demand.js';
import type { StandbyGoal } from '../standby/forecast.js';
import { isDemand } from '../record/requestors.js';
import type { Window } from './demand.js';
import type { Past, RecordedRequest, RecordedUse } from './past.js';

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

/** Launches without a record take this long. */
const USUAL_BOOT_MS = 120_000;

/**
 * Replays the standby nodes of each label over the recorded requests of the window. The record before the window is what the
 * forecast knows at its beginning.
 */
export function replayStandby(
  past: Past,
  window: Window,
  settingsOf: (label: string) => StandbyOfLabel,
): StandbyReplay[] {
  const byLabel = new Map<string, RecordedRequest[]>();
  for (const request of past.requests.filter((each) => isDemand(each) && each.createdMs <= window.untilMs)) {
    for (const label of new Set(request.labels)) {
      const list = byLabel.get(label);
      if (list) list.push(request);
      else byLabel.set(label, [request]);
    }
  }
  const { uses } = past;
  const internal = new Set(past.requests.filter((each) => !isDemand(each)).map(({ id }) => id));
  // a standby node is launched for a request of a launcher, and belongs to it until it is allocated to another one
  const standby = uses.filter(({ request }) => request === undefined || internal.has(request));
  const labels = [...byLabel].sort(([a], [b]) => (a < b ? -1 : 1));
  return labels.flatMap(([label, requests]) => {
    const played = requests.filter(({ createdMs }) => createdMs >= window.sinceMs);
    if (played.length === 0) return [];
    const arrivals = arrivalsOf(label, requests);
    const launches = launchesOf(label, uses);
    const { goal, minReady } = settingsOf(label);
    const { sinceMs, untilMs } = { ...window, untilMs: Math.min(window.untilMs, past.toMs) };
    const scene = {
      ...{ sinceMs, untilMs, launches, knownSinceMs: past.fromMs, bootMs: bootTimes(launches) },
      before: arrivals.filter(({ atMs }) => atMs < sinceMs),
      arrivals: arrivals.filter(({ atMs }) => atMs >= sinceMs),
    };
    const { auto, constant, clairvoyant } = compareStandby(scene, goal, minReady);
    return [
      { label, recorded: recordedFigures(label, played, standby, { sinceMs, untilMs }), auto, constant, clairvoyant },
    ];
  });
}

function arrivalsOf(label: string, requests: readonly RecordedRequest[]): Arrival[] {
  return requests
    .map(({ createdMs: atMs, labels }) => ({ atMs, nodes: labels.filter((each) => each === label).length }))
    .sort((a, b) => a.atMs - b.atMs);
}

interface Launch {
  readonly endedMs: number;
  readonly tookMs: number;
}

function launchesOf(label: string, uses: readonly RecordedUse[]): Launch[] {
  const launches = uses.flatMap(({ labels, launched, launchBeganMs, launchEndedMs }) =>
    labels.includes(label) && launched === 'ready' && launchBeganMs !== undefined && launchEndedMs !== undefined
      ? [{ endedMs: launchEndedMs, tookMs: launchEndedMs - launchBeganMs }]
      : [],
  );
  return launches.sort((a, b) => a.endedMs - b.endedMs);
}

/** A launch takes as long as the recorded one of the label that ended nearest. */
function bootTimes(launches: readonly Launch[]): (atMs: number) => number {
  return (atMs) => {
    let [low, high] = [0, launches.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((launches[middle]?.endedMs ?? 0) < atMs) low = middle + 1;
      else high = middle;
    }
    const [before, after] = [launches[low - 1], launches[low]];
    if (!before || !after) return (before ?? after)?.tookMs ?? USUAL_BOOT_MS;
    return atMs - before.endedMs < after.endedMs - atMs ? before.tookMs : after.tookMs;
  };
}

function recordedFigures(
  label: string,
  requests: readonly RecordedRequest[],
  standby: readonly RecordedUse[],
  { sinceMs, untilMs }: Window,
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
  return { requests: requests.length, ...waitFigures(waits), idleHours: idleMs / 3_600_000, nodes: undefined };
}
