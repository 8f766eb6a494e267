import { delay, systemClock } from '@nodepool/zk-protocol';
import type { ContractCloud } from './types.js';

/** Six hours: longer than any time limit a configuration is likely to have. */
export const LIMIT_MS = 6 * 3_600_000;
const MANY_STEPS = 20_000;
/** Real time that work with files or sockets of this machine may take, and virtual time that passes in each millisecond of it. */
const IO_LIMIT_MS = 50_000;
const IO_STEP_MS = 10;

/** Virtual time of a test: passes only while the test waits for something. */
export class TestTime {
  readonly #cloud: Pick<ContractCloud, 'clock' | 'advance'>;
  /** Called after each step of time. */
  onStep: () => void | Promise<void> = () => {};

  constructor(cloud: Pick<ContractCloud, 'clock' | 'advance'>) {
    this.#cloud = cloud;
  }

  /** Lets time pass until the promise has settled. */
  async during<T>(promise: Promise<T>, what: string, limitMs = LIMIT_MS): Promise<T> {
    let settled = false;
    const settle = () => (settled = true);
    promise.then(settle, settle);
    await this.until(() => settled, what, limitMs);
    return promise;
  }

  /**
   * Lets time pass until work has ended that also waits for files or sockets of this machine. Those take real time, in which
   * hours of virtual time would pass.
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

  /** Lets time pass until the condition holds; looks after each step. */
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

  /** Lets so much time pass. */
  async pass(ms: number): Promise<void> {
    await this.#cloud.advance(ms);
  }
}

/** First what is due now, then ever larger steps: time limits of hours must not take hours. */
function stepMs(step: number): number {
  if (step < 20) return 0;
  if (step < 70) return 100;
  return step < 200 ? 1_000 : 10_000;
}
