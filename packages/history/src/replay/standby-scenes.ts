import type { ComparedScene } from '../standby/play-settings.js';
import type { Arrival } from '../standby/demand.js';
import { isDemand } from '../record/requestors.js';
import type { Window } from './demand.js';
import type { Past, RecordedRequest, RecordedUse } from './past.js';

/** The recorded requests and launches of one label. */
export interface LabelScene extends ComparedScene {
  readonly label: string;
  /** Requests of the window. */
  readonly requests: readonly RecordedRequest[];
  /** Standby nodes of all labels. */
  readonly standby: readonly RecordedUse[];
  readonly launches: readonly ReadyLaunch[];
}

/** A launch that ended well. */
export interface ReadyLaunch {
  readonly endedMs: number;
  readonly tookMs: number;
  readonly provider: string;
}

/** Launches without a record take this long. */
const USUAL_BOOT_MS = 120_000;

/**
 * The labels that were asked for in the window, in order of their names. The window is that part of it which is on record; the
 * record before it is what a forecast knows at its beginning.
 */
export function* scenesOf(past: Past, window: Window): Generator<LabelScene> {
  const byLabel = new Map<string, RecordedRequest[]>();
  for (const request of past.requests.filter((each) => isDemand(each) && each.createdMs <= window.untilMs)) {
    for (const label of new Set(request.labels)) {
      const list = byLabel.get(label);
      if (list) list.push(request);
      else byLabel.set(label, [request]);
    }
  }
  const { uses, requests } = past;
  const internal = new Set(requests.filter((each) => !isDemand(each)).map(({ id }) => id));
  // a standby node is launched for a request of a launcher, and belongs to it until it is allocated to another one
  const standby = uses.filter(({ request }) => request === undefined || internal.has(request));
  const sinceMs = Math.max(window.sinceMs, past.fromMs);
  const untilMs = Math.min(window.untilMs, past.toMs);
  for (const [label, all] of [...byLabel].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const played = all.filter(({ createdMs }) => createdMs >= sinceMs);
    if (played.length === 0) continue;
    const arrivals = arrivalsOf(label, all);
    const launches = launchesOf(label, uses);
    yield {
      ...{ label, requests: played, standby, sinceMs, untilMs, launches },
      ...{ knownSinceMs: past.fromMs, bootMs: bootTimes(launches) },
      before: arrivals.filter(({ atMs }) => atMs < sinceMs),
      arrivals: arrivals.filter(({ atMs }) => atMs >= sinceMs),
    };
  }
}

function arrivalsOf(label: string, requests: readonly RecordedRequest[]): Arrival[] {
  return requests
    .map(({ createdMs: atMs, labels }) => ({ atMs, nodes: labels.filter((each) => each === label).length }))
    .sort((a, b) => a.atMs - b.atMs);
}

function launchesOf(label: string, uses: readonly RecordedUse[]): ReadyLaunch[] {
  const launches = uses.flatMap(({ labels, pool, launched, launchBeganMs, launchEndedMs }) =>
    labels.includes(label) && launched === 'ready' && launchBeganMs !== undefined && launchEndedMs !== undefined
      ? [
          {
            endedMs: launchEndedMs,
            tookMs: launchEndedMs - launchBeganMs,
            provider: pool.slice(0, pool.lastIndexOf('/')),
          },
        ]
      : [],
  );
  return launches.sort((a, b) => a.endedMs - b.endedMs);
}

/** A launch takes as long as the recorded one of the label that began nearest. */
function bootTimes(ended: readonly ReadyLaunch[]): (atMs: number) => number {
  const launches = ended.map(({ endedMs, tookMs }) => ({ beganMs: endedMs - tookMs, tookMs }));
  launches.sort((a, b) => a.beganMs - b.beganMs);
  return (atMs) => {
    let [low, high] = [0, launches.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((launches[middle]?.beganMs ?? 0) < atMs) low = middle + 1;
      else high = middle;
    }
    const [before, after] = [launches[low - 1], launches[low]];
    if (!before || !after) return (before ?? after)?.tookMs ?? USUAL_BOOT_MS;
    return atMs - before.beganMs < after.beganMs - atMs ? before.tookMs : after.tookMs;
  };
}
