/** What the watching thread is given. */
export interface WatchdogData {
  /** One 32-bit counter, raised by the main thread as long as it turns. */
  readonly beats: SharedArrayBuffer;
  /** Time between two looks at the counter. */
  readonly lookMs: number;
  /** Looks without a beat after which the main thread counts as stuck. */
  readonly looks: number;
  readonly program: string;
}

/** Name under which the main thread offers its last words to the watching thread. */
export const LAST_WORDS = 'nodepool.watchdog.lastWords';

/** Called in the stuck thread itself, from outside, with the functions that it is in. Ends the process. */
export type LastWords = (frames: string) => void;
