import { VirtualClock as SharedClock } from '@nodepool/core/testing';

/** The virtual clock; what runs between two timers here takes a few turns of the event loop. */
export class VirtualClock extends SharedClock {
  constructor() {
    super({ idle: turns });
  }
}

async function turns(): Promise<boolean> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  return false;
}

/** Numbers in [0, 1), the same for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
