import { createRequire, syncBuiltinESMExports } from 'node:module';
import { randomUUID } from 'node:crypto';
import type { Random } from './random.js';

const crypto = createRequire(import.meta.url)('node:crypto') as { randomUUID: () => string };
const real = { setImmediate, clearImmediate, random: Math.random.bind(Math), randomUUID };

/**
 * Makes what product code takes from the process come from the seed: `Math.random`, uuids, and the turns of the event
 * loop, which are counted so that the simulation knows when everything has come to rest.
 */
export class Environment {
  readonly #pending = new Set<NodeJS.Immediate>();
  readonly #stackTraceLimit = Error.stackTraceLimit;

  /**
   * @param random - everything unpredictable comes from it
   * @param withStacks - errors have stack traces
   */
  constructor(random: Random, withStacks: boolean) {
    // Errors are an everyday matter here, and their stacks are half the cost of a run.
    if (!withStacks) Error.stackTraceLimit = 0;
    Math.random = random.next;
    crypto.randomUUID = () => [8, 4, 4, 4, 12].map((digits) => random.hex(digits)).join('-');
    syncBuiltinESMExports();
    globalThis.setImmediate = ((fn: (...args: unknown[]) => void, ...args: unknown[]) => {
      const immediate = real.setImmediate(() => {
        this.#pending.delete(immediate);
        fn(...args);
      });
      this.#pending.add(immediate);
      return immediate;
    }) as typeof setImmediate;
    globalThis.clearImmediate = (immediate) => {
      if (immediate) this.#pending.delete(immediate);
      real.clearImmediate(immediate);
    };
  }

  /** Resolves when all that does not wait for a timer has run. */
  async settle(): Promise<void> {
    do await new Promise<void>((resolve) => real.setImmediate(resolve));
    while (this.#pending.size > 0);
  }

  /** Gives everything back. */
  restore(): void {
    Math.random = real.random;
    crypto.randomUUID = real.randomUUID;
    globalThis.setImmediate = real.setImmediate;
    globalThis.clearImmediate = real.clearImmediate;
    syncBuiltinESMExports();
    Error.stackTraceLimit = this.#stackTraceLimit;
  }
}
