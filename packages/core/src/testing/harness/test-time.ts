import { delay, systemClock } from '@nodepool/zk-protocol';
import type { ContractCloud } from './types.js';

/** Six hours, which exceeds any likely time limit in a configuration. */
export const LIMIT_MS = 6 * 3_600_000;
const MANY_STEPS = 20_000;
/** Real-time limit for work with local files or sockets, and virtual time that passes per millisecond of it. */
const IO_LIMIT_MS = 50_000;
const IO_STEP_MS = 10;

/** Virtual time of a test, which advances only while the test waits. */
export class TestTime {
  readonly #cloud: Pick<ContractCloud, 'clock' | 'advance'>;
  /** Called after each time step. */
  onStep: () => void | Promise<void> = () => {};

  constructor(cloud: Pick<ContractCloud, 'clock' | 'advance'>) {
    this.#cloud = cloud;
  }

  /** Advances time until the promise settles. */
  async during<T>(promise: Promise<T>, what: string, limitMs = LIMIT_MS): Promise<T> {
    let settled = false;
    const settle = () => (settled = true);
    promise.then(settle, settle);
    await this.until(() => settled, what, limitMs);
    return promise;
  }

  /**
   * Advances time until work completes that also waits for local files or sockets. Such work takes real time, during
   * which unlimited steps would skip hours of virtual time.
   */
  async duringIo<T>(promise: Promise<T>, what: string): Promise<T> {
    let settled = false;
    const settle = () => (settled = true);
    promise.then(settle, settle);
    for (const endMs = systemClock.now() + IO_LIMIT_MS; !settled;) {
      if (systemClock.now() > endMs)
        throw new Error(`never came true within ${IO_LIMIT_MS / 1_000} s of real time: ${what}`);
      await this.#cloud.advance(IO_STEP_MS);
      await this.onStep();
      await delay(systemClock, 1);
    }
    return promise;
  }

  /** Advances time until the condition holds, checking it after each step. */
  async until(
    condition: () => boolean | Promise<boolean>,
    what: string | (() => string),
    limitMs = LIMIT_MS,
  ): Promise<void> {
    const startMs = this.#cloud.clock.now();
    for (let step = 0; !(await condition()); step++) {
      const passedMs = this.#cloud.clock.now() - startMs;
      if (passedMs > limitMs || step > MANY_STEPS) {
        const text = typeof what === 'string' ? what : what();
        throw new Error(`never came true within ${Math.round(passedMs / 1_000)} s: ${text}`);
      }
      await this.#cloud.advance(stepMs(step));
      await this.onStep();
    }
  }

  /** Advances time. */
  async pass(ms: number): Promise<void> {
    await this.#cloud.advance(ms);
  }
}

/** First the timers that are due, then growing steps, so that time limits of hours are reached quickly. */
function stepMs(step: number): number {
  if (step < 20) return 0;
  if (step < 70) return 100;
  return step < 200 ? 1_000 : 10_000;
}
