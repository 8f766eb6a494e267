import { type CancelTimer, type Clock, steadyNow } from '../../base/clock.js';

/** Longest wait a timer takes; later deadlines are looked at again then. */
const MAX_WAIT_MS = 0x7fff_ffff;

/** Calls back at the earliest of the deadlines it is told, in steady time. */
export class DeadlineTimer {
  private cancel: CancelTimer | undefined;
  private armedForMs = Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly onDeadline: () => void,
  ) {}

  /** Makes sure the callback runs at that time or earlier; `Infinity` and later times than known are ignored. */
  notLaterThan(timeMs: number): void {
    if (timeMs >= this.armedForMs) return;
    this.stop();
    this.armedForMs = timeMs;
    const waitMs = Math.min(Math.max(timeMs - steadyNow(this.clock), 1), MAX_WAIT_MS);
    this.cancel = this.clock.setTimer(waitMs, () => {
      this.stop();
      this.onDeadline();
    });
  }

  stop(): void {
    this.cancel?.();
    this.cancel = undefined;
    this.armedForMs = Infinity;
  }
}
