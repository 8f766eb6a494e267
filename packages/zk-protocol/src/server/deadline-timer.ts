import { type CancelTimer, type Clock, PAUSE_MS, setPatientTimer, steadyNow } from '../base/clock.js';

/** Longest wait. Later deadlines are checked again then, so a pause of the process is noticed with this precision. */
const MAX_WAIT_MS = 1_000;

/**
 * Calls back at the earliest deadline, in steady time. The event loop reads first what clients have sent until then: after a
 * pause of the process timers run before the data that arrived meanwhile.
 */
export class DeadlineTimer {
  private cancel: CancelTimer | undefined;
  private deadlineMs = Infinity;
  /** When the timer fires; in the past while the callback waits for the data that has arrived. */
  private dueMs = Infinity;

  constructor(
    private readonly clock: Clock,
    /** Receives for how long the process may have been paused, in milliseconds; 0 when it was not. */
    private readonly onDeadline: (pauseMs: number) => void,
  ) {}

  /** Makes sure the callback runs at that time or earlier; `Infinity` and later times than known are ignored. */
  notLaterThan(timeMs: number): void {
    if (timeMs >= this.deadlineMs) return;
    this.deadlineMs = timeMs;
    const nowMs = steadyNow(this.clock);
    // A timer that is overdue tells how long the process was paused.
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
