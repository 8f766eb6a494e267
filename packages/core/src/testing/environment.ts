import { createRequire, syncBuiltinESMExports } from 'node:module';
import { randomUUID } from 'node:crypto';
import type { Random } from './random.js';

const crypto = createRequire(import.meta.url)('node:crypto') as { randomUUID: () => string };
const real = { setImmediate, clearImmediate, random: Math.random.bind(Math), randomUUID };

/**
 * Makes process-wide sources deterministic: `Math.random` and uuids come from the seed, and event loop turns are
 * counted so that the simulation can detect when all work has settled.
 */
export class Environment {
  readonly #pending = new Set<NodeJS.Immediate>();
  /** Callbacks that wait until none holds them. */
  readonly #held = new Map<NodeJS.Immediate, () => void>();
  #holders = 0;
  readonly #stackTraceLimit = Error.stackTraceLimit;

  /**
   * @param random - source of all random values
   * @param withStacks - whether errors have stack traces
   */
  constructor(random: Random, withStacks: boolean) {
    // Simulations create many errors, and stack traces take half of the run time.
    if (!withStacks) Error.stackTraceLimit = 0;
    Math.random = random.next;
    crypto.randomUUID = () => [8, 4, 4, 4, 12].map((digits) => random.hex(digits)).join('-');
    syncBuiltinESMExports();
    globalThis.setImmediate = ((fn: (...args: unknown[]) => void, ...args: unknown[]) => {
      const immediate = real.setImmediate(() => {
        if (!this.#pending.delete(immediate)) return;
        if (this.#holders > 0) this.#held.set(immediate, () => fn(...args));
        else fn(...args);
      });
      this.#pending.add(immediate);
      return immediate;
    }) as typeof setImmediate;
    globalThis.clearImmediate = (immediate) => {
      if (immediate) {
        this.#pending.delete(immediate);
        this.#held.delete(immediate);
      }
      real.clearImmediate(immediate);
    };
  }

  /** Holds callbacks of `setImmediate` back. @returns lets them run */
  readonly holdImmediates = (): (() => void) => {
    this.#holders++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (--this.#holders > 0) return;
      for (const [immediate, fn] of this.#held)
        globalThis.setImmediate(() => {
          if (this.#held.delete(immediate)) fn();
        });
    };
  };

  /** Resolves when all work that does not wait for a timer has run. */
  async settle(): Promise<void> {
    do await new Promise<void>((resolve) => real.setImmediate(resolve));
    while (this.#pending.size > 0);
  }

  /** Restores the original functions and settings. */
  restore(): void {
    Math.random = real.random;
    crypto.randomUUID = real.randomUUID;
    globalThis.setImmediate = real.setImmediate;
    globalThis.clearImmediate = real.clearImmediate;
    syncBuiltinESMExports();
    Error.stackTraceLimit = this.#stackTraceLimit;
  }
}
