import { causesOfRequest, MAX_EVENTS, Recorder, type Interval, type PastRequest } from '@nodepool/history';
import type { SimulatedProcess } from './process.js';
import { Violation } from './violation.js';

/** Causes that must not last while the launcher runs. */
const MOMENTARY = new Map([['planning', 5_000]]);

/** Keeps the launchers' history, and checks that it gives a cause for each moment of a fulfilled request. */
export class HistoryCheck {
  readonly recorder: Recorder;
  readonly #process: SimulatedProcess;

  constructor(process: SimulatedProcess) {
    this.#process = process;
    const { clock } = process;
    this.recorder = new Recorder({
      clock,
      dirty: () => clock.setTimer(1_000, () => this.#keep()),
      fulfilled: (past) => this.#fulfilled(past),
    });
  }

  #keep(): void {
    const lines = this.recorder.take();
    this.#process.world.onHistory?.(lines);
  }

  #fulfilled({ request, isOwn }: PastRequest): void {
    if (!isOwn || request.events.length >= MAX_EVENTS) return; // those in the middle are in the file only
    const intervals = causesOfRequest(request);
    const wrong = this.#findWrong(intervals, request.facts.createdMs ?? 0);
    if (wrong === undefined) return;
    const { world, name } = this.#process;
    const shown = JSON.stringify({ intervals, events: request.events });
    world.violate(new Violation(`${name}: the history of ${request.id} ${wrong}: ${shown}`));
  }

  #findWrong(intervals: readonly Interval[], createdMs: number): string | undefined {
    let untilMs = createdMs;
    for (const { beginMs, endMs = 0, cause, text } of intervals) {
      if (cause === '' || text === '') return 'has a time without a cause';
      if (this.#process.isStepped) continue; // times are those of a clock that was set
      if (beginMs !== untilMs) return `has a gap at ${beginMs}`;
      const ms = endMs - beginMs - this.#process.stalledMs(beginMs, endMs);
      if (ms > (MOMENTARY.get(cause) ?? Infinity)) return `has ${cause} for ${ms} ms`;
      untilMs = endMs;
    }
    if (this.#process.isStepped) return undefined;
    return Math.abs(untilMs - this.#process.clock.now()) > 1 && intervals.length > 0 ? `ends at ${untilMs}` : undefined;
  }
}
