import { steadyNow, type Clock, type NodeRecord } from '@nodepool/zk-protocol';
import { countedClock } from '../../async/counted-clock.js';
import type { Launch, LauncherEvents } from '../state/events.js';

/** Durations of the last launches from which the usual one is taken. */
const REMEMBERED = 8;
/** With fewer starts nothing is concluded. */
const ENOUGH_STARTS = 3;
/** A start that takes this share of a launch, or more, gains nothing. */
const NO_GAIN = 0.8;
/** After this time it is tried again. */
const OFF_MS = 86_400_000;

interface Times {
  readonly launches: number[];
  readonly starts: number[];
  off: { readonly why: string; readonly untilMs: number } | undefined;
}

/**
 * Whether stopped nodes are worth it, by provider and label: not where starting one has taken nearly as long as launching one,
 * nor where one could not be stopped. Both from the point of view of this launcher, since it began.
 */
export class StartGain {
  readonly #clock: Pick<Clock, 'now' | 'steadyNow'>;
  readonly #times = new Map<string, Times>();
  readonly #placedMs = new WeakMap<Launch, number>();
  readonly #unsubscribe: readonly (() => void)[];

  constructor({ clock, events }: { readonly clock: Clock; readonly events: LauncherEvents }) {
    this.#clock = countedClock(clock);
    this.#unsubscribe = [
      events.on('launchPlaced', ({ launch }) => this.#placedMs.set(launch, steadyNow(clock))),
      events.on('launchEnded', ({ launch, state }) => state === 'ready' && this.#ready(launch)),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Until when nodes of the label are not stopped in the provider, and why; `undefined`: they are. */
  whyNot(provider: string, label: string): string | undefined {
    const times = this.#times.get(keyOf(provider, label));
    if (!times?.off) return undefined;
    if (times.off.untilMs > this.#clock.now()) return `until ${timeText(times.off.untilMs)}: ${times.off.why}`;
    times.off = undefined;
    times.starts.length = 0;
    return undefined;
  }

  /** A node could not be stopped. */
  stopFailed({ provider, labels }: NodeRecord, error: Error): void {
    for (const label of labels) this.#switchOff(provider ?? '', label, `one could not be stopped: ${error.message}`);
  }

  #ready(launch: Launch): void {
    const placedMs = this.#placedMs.get(launch);
    if (placedMs === undefined || (launch.isResumed && !launch.isStart)) return;
    const { provider, label } = launch;
    const times = this.#timesOf(provider, label);
    const list = launch.isStart ? times.starts : times.launches;
    list.push(steadyNow(this.#clock) - placedMs);
    if (list.length > REMEMBERED) list.shift();
    const [startMs, launchMs] = [median(times.starts), median(times.launches)];
    if (times.starts.length < ENOUGH_STARTS || launchMs === undefined || startMs === undefined) return;
    if (startMs < NO_GAIN * launchMs) return;
    const why = `starting one takes ${seconds(startMs)}, launching one ${seconds(launchMs)}`;
    this.#switchOff(provider, label, why);
  }

  #switchOff(provider: string, label: string, why: string): void {
    this.#timesOf(provider, label).off = { why, untilMs: this.#clock.now() + OFF_MS };
  }

  #timesOf(provider: string, label: string): Times {
    const key = keyOf(provider, label);
    let times = this.#times.get(key);
    if (!times) this.#times.set(key, (times = { launches: [], starts: [], off: undefined }));
    return times;
  }
}

function keyOf(provider: string, label: string): string {
  return JSON.stringify([provider, label]);
}

function median(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
