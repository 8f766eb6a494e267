import { type CancelTimer, type Clock, PAUSE_MS, setPatientTimer, steadyNow } from '../base/clock.js';

/** Longest timer; longer waits take several. A pause of the process is measured with this precision. */
const MAX_WAIT_MS = 1_000;

/**
 * Calls back at the earliest deadline, in steady time, after the event loop has read pending data: after a pause of the
 * process, timers would run before data that arrived in between.
 */
export class DeadlineTimer {
  private cancel: CancelTimer | undefined;
  private deadlineMs = Infinity;
  /** Time of the timer; in the past while the callback waits for pending data. */
  private dueMs = Infinity;

  constructor(
    private readonly clock: Clock,
    /** Receives how long the process may have been paused, in milliseconds; 0 if it was not. */
    private readonly onDeadline: (pauseMs: number) => void,
  ) {}

  /** Sets an earlier deadline; ignores a later one. */
  notLaterThan(timeMs: number): void {
    if (timeMs >= this.deadlineMs) return;
    this.deadlineMs = timeMs;
    const nowMs = steadyNow(this.clock);
    // Keep an overdue timer: it measures how long the process was paused.
    if (this.dueMs > Math.max(timeMs, nowMs)) this.setTimer(nowMs);
  }

  stop(): void {
    this.cancel?.();
    this.cancel = undefined;
    this.deadlineMs = Infinity;
    this.dueMs = Infinity;
  }

  private setTimer(nowMs: number): void {
    this.cancel?.();
    const waitMs = Math.min(Math.max(this.deadlineMs - nowMs, 1), MAX_WAIT_MS);
    this.dueMs = nowMs + waitMs;
    this.cancel = setPatientTimer(this.clock, waitMs, (lateMs) => {
      this.onTimer(lateMs < PAUSE_MS ? 0 : waitMs + lateMs);
    });
  }

  private onTimer(pauseMs: number): void {
    const nowMs = steadyNow(this.clock);
    if (pauseMs === 0 && nowMs < this.deadlineMs) {
      this.setTimer(nowMs);
      return;
    }
    this.stop();
    this.onDeadline(pauseMs);
  }
}
