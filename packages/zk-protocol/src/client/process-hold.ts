import { clearInterval, setInterval } from 'node:timers';

const LONGEST_TIMER_MS = 0x7fff_ffff;

/**
 * Keeps the process alive while an open client has no socket to do so, e.g. between two attempts to connect: otherwise a
 * command that waits for ZooKeeper would end without a word. Only a handle: nothing ever happens when it fires.
 */
export class ProcessHold {
  #handle: NodeJS.Timeout | undefined;

  /** Safe to repeat. */
  hold(): void {
    this.#handle ??= setInterval(() => {}, LONGEST_TIMER_MS);
  }

  /** Safe to repeat. */
  release(): void {
    clearInterval(this.#handle);
    this.#handle = undefined;
  }
}
