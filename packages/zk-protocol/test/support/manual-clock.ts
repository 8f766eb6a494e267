import type { Clock } from '../../src/base/clock.js';

interface Timer {
  atMs: number;
  fn: () => void;
}

/** A clock that tests advance. */
export class ManualClock implements Clock {
  private nowMs: number;
  private readonly timers = new Set<Timer>();

  /** Offset of the time of day, as after setting the clock. */
  stepMs = 0;

  constructor(beginMs = 1_700_000_000_000) {
    this.nowMs = beginMs;
  }

  now(): number {
    return this.nowMs + this.stepMs;
  }

  steadyNow(): number {
    return this.nowMs;
  }

  setTimer(ms: number, fn: () => void): () => void {
    const timer = { atMs: this.nowMs + ms, fn };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.timers.size;
  }

  advance(ms: number): void {
    const endMs = this.nowMs + ms;
    for (let next = this.next(endMs); next !== undefined; next = this.next(endMs)) {
      this.timers.delete(next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.fn();
    }
    this.nowMs = endMs;
  }

  /** Simulates a pause of the process: due timers fire at its end. */
  pause(ms: number): void {
    this.nowMs += ms;
    this.advance(0);
  }

  private next(endMs: number): Timer | undefined {
    return [...this.timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
  }
}
