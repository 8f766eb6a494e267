import { VirtualClock as SharedClock } from '@nodepool/core/testing';

/** The virtual clock; between two timers it waits some turns of the event loop. */
export class VirtualClock extends SharedClock {
  constructor() {
    super({ idle: turns });
  }
}

async function turns(): Promise<boolean> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  return false;
}
