import { createHook, type AsyncHook } from 'node:async_hooks';
import { currentDriverScope } from '../../launcher/providers/guard/driver-scope.js';

/** Stack frames that show the origin of a timer; the first one is this file. */
const FRAMES = /\n\s+at .*/g;

interface RealTimer {
  readonly timer: NodeJS.Timeout & { readonly _repeat?: number | null };
  readonly stack: string;
}

/** Timers of the real clock that a driver sets, by whatever function, though its time is that of the context's clock. */
export class RealTimers {
  readonly #driver: string;
  readonly #hook: AsyncHook;
  readonly #timers = new Map<number, RealTimer>();

  /** Watches from now on. */
  constructor(driver: string) {
    this.#driver = driver;
    this.#hook = createHook({
      init: (id, type, _trigger, resource) => {
        if (type !== 'Timeout' || currentDriverScope()?.driver !== this.#driver) return;
        // The resource of this type is the timer.
        this.#timers.set(id, { timer: resource as NodeJS.Timeout, stack: new Error().stack ?? '' });
      },
      destroy: (id) => this.#timers.delete(id),
    }).enable();
  }

  /**
   * Where those were set that are still there: intervals, and timers that keep the process alive. Timers of connections
   * that may be used again are neither.
   */
  async left(): Promise<string[]> {
    await new Promise((resolve) => setImmediate(resolve)); // a timer that was cleared is reported a moment later
    const left = [...this.#timers.values()].filter(({ timer }) => (timer._repeat ?? null) !== null || timer.hasRef());
    return left.map(({ stack }) => placeIn(stack));
  }

  stop(): void {
    this.#hook.disable();
  }
}

/** The first line of a stack that is neither this file nor Node. */
function placeIn(stack: string): string {
  const frames = (stack.match(FRAMES) ?? []).map((frame) => frame.trim());
  return frames.find((frame) => !frame.includes('real-timers') && !frame.includes('node:')) ?? 'at an unknown place';
}
