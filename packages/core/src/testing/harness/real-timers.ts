import { createHook, type AsyncHook } from 'node:async_hooks';
import { currentDriverScope } from '../../launcher/providers/guard/driver-scope.js';

/** Stack frames of a timer's origin. The first frame is in this file. */
const FRAMES = /\n\s+at .*/g;

interface RealTimer {
  readonly timer: NodeJS.Timeout & { readonly _repeat?: number | null };
  readonly stack: string;
}

/** Finds timers that a driver sets on the real clock instead of the clock in its context. */
export class RealTimers {
  readonly #driver: string;
  readonly #hook: AsyncHook;
  readonly #timers = new Map<number, RealTimer>();

  /** Starts watching. */
  constructor(driver: string) {
    this.#driver = driver;
    this.#hook = createHook({
      init: (id, type, _trigger, resource) => {
        if (type !== 'Timeout' || currentDriverScope()?.driver !== this.#driver) return;
        // For this type, the resource is the timer object.
        this.#timers.set(id, { timer: resource as NodeJS.Timeout, stack: new Error().stack ?? '' });
      },
      destroy: (id) => this.#timers.delete(id),
    }).enable();
  }

  /**
   * Returns the origins of leftover timers: intervals, and timers that keep the process alive. Timers of reusable
   * connections are neither.
   */
  async left(): Promise<string[]> {
    await new Promise((resolve) => setImmediate(resolve)); // the async hook reports cleared timers with a delay
    const left = [...this.#timers.values()].filter(({ timer }) => (timer._repeat ?? null) !== null || timer.hasRef());
    return left.map(({ stack }) => placeIn(stack));
  }

  stop(): void {
    this.#hook.disable();
  }
}

/** First stack line outside this file and Node.js. */
function placeIn(stack: string): string {
  const frames = (stack.match(FRAMES) ?? []).map((frame) => frame.trim());
  return frames.find((frame) => !frame.includes('real-timers') && !frame.includes('node:')) ?? 'at an unknown place';
}
