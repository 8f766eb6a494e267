import { nowMs, pause } from './pause.js';

/** Pause between two looks at the clocks. */
const LOOK_MS = 1_000;
/** The clocks of a computer that is awake differ by less, corrections included. */
const SLEPT_MS = 3_000;

/**
 * Calls a function when the time of day has gone ahead of the clock that timers use: that one stands still while a computer sleeps.
 * The time may also have been set. Ends with the signal; does not keep the process alive.
 * @param onSlept - gets how long it slept
 */
export async function watchSleep(onSlept: (sleptMs: number) => void, signal: AbortSignal): Promise<void> {
  const aheadMs = () => Date.now() - nowMs();
  for (let beforeMs = aheadMs(); !signal.aborted;) {
    await pause(LOOK_MS, signal, false).catch(() => undefined);
    const sleptMs = aheadMs() - beforeMs;
    beforeMs += sleptMs;
    if (sleptMs > SLEPT_MS && !signal.aborted) onSlept(sleptMs);
  }
}
