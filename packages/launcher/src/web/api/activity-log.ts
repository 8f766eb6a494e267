import type { CancelTimer, Clock, Json, JsonObject, NodeRecord } from '@nodepool/zk-protocol';
import type { LauncherMetrics, MetricsAttachment, ObservedLauncher } from '@nodepool/core/service';
import { LabelWaits } from './label-waits.js';

const MINUTE_MS = 60_000;
const MINUTES = 60;
/** Limit of durations per minute; percentiles use the first ones. */
const MAX_DURATIONS = 500;
const MAX_ERRORS = 50;
const MAX_ERROR_LENGTH = 500;

/** Launches that ended within one minute. */
interface LaunchMinute {
  readonly minute: number;
  ready: number;
  failed: number;
  /** Of successful ones, milliseconds. */
  readonly durations: number[];
}

/** Calls to one cloud within one minute. */
interface CallMinute {
  readonly minute: number;
  calls: number;
  failed: number;
}

/** An error shown to people. */
export interface ActivityError {
  readonly timeMs: number;
  readonly provider: string | null;
  readonly node: string | null;
  readonly text: string;
}

type LaunchEnd = Parameters<NonNullable<LauncherMetrics['launchEnded']>>;

/** Keeps the last hour of a launcher in limited memory for its status page, and forwards all events to the metrics. */
export class ActivityLog implements LauncherMetrics {
  readonly waits = new LabelWaits();
  readonly #inner: LauncherMetrics;
  readonly #clock: Clock;
  readonly #launches: LaunchMinute[] = [];
  readonly #calls = new Map<string, CallMinute[]>();
  readonly #errors: ActivityError[] = [];
  readonly #launchListeners = new Set<(result: string, ms: number, of: LaunchEnd[2]) => void>();

  constructor(inner: LauncherMetrics, clock: Clock) {
    this.#inner = inner;
    this.#clock = clock;
  }

  /** Calls the listener for each launch attempt that ended. @returns unsubscribes */
  onLaunch(listener: (result: string, ms: number, of: LaunchEnd[2]) => void): CancelTimer {
    this.#launchListeners.add(listener);
    return () => this.#launchListeners.delete(listener);
  }

  // --- for the status page ----------------------------------------------------------------------------------------

  /** Keeps the launch error of a changed node if it is new. */
  nodeChanged(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    if (!after || after.launchError === null || after.launchError === before?.launchError) return;
    const { provider, id: node, launchError } = after;
    this.#errors.push({ timeMs: this.#clock.now(), provider, node, text: launchError.slice(0, MAX_ERROR_LENGTH) });
    if (this.#errors.length > MAX_ERRORS) this.#errors.shift();
  }

  /** Errors, newest first. @param provider - missing: all providers */
  errors(provider?: string): JsonObject[] {
    const own = this.#errors.filter((error) => provider === undefined || error.provider === provider);
    return own.reverse().map(({ timeMs, ...error }) => ({ time: timeMs / 1000, ...error }));
  }

  /** Launches of the last hour, in total and for each minute with any; durations in seconds. */
  launches(): JsonObject {
    const oldest = this.#minute() - MINUTES;
    while ((this.#launches[0]?.minute ?? Infinity) <= oldest) this.#launches.shift();
    const all = this.#launches.flatMap(({ durations }) => durations).sort((a, b) => a - b);
    return {
      ready: this.#launches.reduce((sum, { ready }) => sum + ready, 0),
      failed: this.#launches.reduce((sum, { failed }) => sum + failed, 0),
      p50: quantile(all, 0.5),
      p95: quantile(all, 0.95),
      minutes: this.#launches.map(({ minute, ready, failed, durations }) => ({
        ...{ time: (minute * MINUTE_MS) / 1000, ready, failed },
        p50: quantile(
          [...durations].sort((a, b) => a - b),
          0.5,
        ),
      })),
    };
  }

  /** Calls to a cloud: rate over the last five full minutes, and failures of the last hour. */
  calls(provider: string): JsonObject {
    const now = this.#minute();
    const minutes = (this.#calls.get(provider) ?? []).filter(({ minute }) => minute > now - MINUTES);
    const recent = minutes.filter(({ minute }) => minute < now && minute >= now - 5);
    return {
      calls_per_minute: recent.reduce((sum, { calls }) => sum + calls, 0) / 5,
      calls_last_hour: minutes.reduce((sum, { calls }) => sum + calls, 0),
      failed_last_hour: minutes.reduce((sum, { failed }) => sum + failed, 0),
    };
  }

  #minute(): number {
    return Math.floor(this.#clock.now() / MINUTE_MS);
  }

  // --- events -----------------------------------------------------------------------------------------------------

  launchEnded(...launch: LaunchEnd): void {
    this.#inner.launchEnded?.(...launch);
    const [result, ms] = launch;
    const minute = this.#minute();
    let entry = this.#launches.at(-1);
    if (entry?.minute !== minute) this.#launches.push((entry = { minute, ready: 0, failed: 0, durations: [] }));
    if (this.#launches.length > MINUTES) this.#launches.shift();
    if (result === 'ready') entry.ready++;
    else entry.failed++;
    if (result === 'ready' && entry.durations.length < MAX_DURATIONS) entry.durations.push(ms);
    for (const listener of this.#launchListeners) listener(...launch);
  }

  apiCall(provider: string, call: string, ms: number, outcome: string, prefix?: string): void {
    this.#inner.apiCall?.(provider, call, ms, outcome, prefix);
    const minute = this.#minute();
    let minutes = this.#calls.get(provider);
    if (!minutes) this.#calls.set(provider, (minutes = []));
    let entry = minutes.at(-1);
    if (entry?.minute !== minute) minutes.push((entry = { minute, calls: 0, failed: 0 }));
    if (minutes.length > MINUTES) minutes.shift();
    entry.calls++;
    if (outcome !== 'ok' && !/^[23]\d\d$/.test(outcome)) entry.failed++;
  }

  // --- forwarded --------------------------------------------------------------------------------------------------

  attach(launcher: ObservedLauncher): MetricsAttachment {
    return this.#inner.attach(launcher);
  }

  requestEnded(...args: Parameters<LauncherMetrics['requestEnded']>): void {
    this.#inner.requestEnded(...args);
  }

  requestWaited(...args: Parameters<NonNullable<LauncherMetrics['requestWaited']>>): void {
    this.#inner.requestWaited?.(...args);
  }

  nodeTooLong(...args: Parameters<NonNullable<LauncherMetrics['nodeTooLong']>>): void {
    this.#inner.nodeTooLong?.(...args);
  }

  sweepFound(work: string, count: number): void {
    this.#inner.sweepFound(work, count);
  }

  deleteEnded(...args: Parameters<NonNullable<LauncherMetrics['deleteEnded']>>): void {
    this.#inner.deleteEnded?.(...args);
  }

  leaked(...args: Parameters<NonNullable<LauncherMetrics['leaked']>>): void {
    this.#inner.leaked?.(...args);
  }

  instanceListAge(...args: Parameters<NonNullable<LauncherMetrics['instanceListAge']>>): void {
    this.#inner.instanceListAge?.(...args);
  }

  transition(...args: Parameters<NonNullable<LauncherMetrics['transition']>>): void {
    this.#inner.transition?.(...args);
  }
}

/** @param sorted - milliseconds @returns seconds */
function quantile(sorted: readonly number[], part: number): Json {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return value === undefined ? null : value / 1000;
}
