import { backoffMs, steadyNow, type BackoffOptions, type Clock } from '@nodepool/zk-protocol';

/** Options of {@link Backoffs}. */
export interface BackoffContext {
  readonly clock: Clock;
  readonly random: () => number;
}

/** A pause before the next attempt. Times in ms since the epoch. */
export interface Pause {
  /** Number of failures; 0: another process does the work. */
  readonly attempts: number;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly reason: string;
  /** It waits for the work of another process. */
  readonly isHold: boolean;
}

/** A pause with its end in steady time: the system time may be set meanwhile. */
type TimedPause = Omit<Pause, 'untilMs'> & { readonly endMs: number };

/** How long a hold lasts when no event ends it. */
const HOLD_MS = 60_000;

/** Growing pauses after failures, one for each name. */
export class Backoffs {
  readonly #pauses = new Map<string, TimedPause>();

  constructor(
    private readonly context: BackoffContext,
    private readonly limits: BackoffOptions,
  ) {}

  /** Notes a failure: doubles the pause, with jitter. */
  failed(name: string, reason: string): void {
    const { clock, random } = this.context;
    const attempts = (this.#pauses.get(name)?.attempts ?? 0) + 1;
    const ms = backoffMs(attempts - 1, this.limits, random);
    this.#pauses.set(name, { attempts, reason, isHold: false, sinceMs: clock.now(), endMs: steadyNow(clock) + ms });
  }

  /** Waits without counting a failure, e.g. for another process. */
  hold(name: string, reason: string): void {
    const { clock } = this.context;
    const attempts = this.#pauses.get(name)?.attempts ?? 0;
    this.#pauses.set(name, { attempts, reason, isHold: true, sinceMs: clock.now(), endMs: steadyNow(clock) + HOLD_MS });
  }

  /** Ends pauses that wait for another process, after that process has ended. Earlier failures keep counting. */
  endHold(name: string): void {
    const pause = this.#pauses.get(name);
    if (pause?.isHold === true) this.#pauses.set(name, { ...pause, endMs: -Infinity });
  }

  /** The pause of a name, over or not. */
  get(name: string): Pause | undefined {
    const pause = this.#pauses.get(name);
    return pause && { ...pause, untilMs: this.#untilMs(pause) };
  }

  /** End of the pause in ms since the epoch; `undefined`: there is none, or it is over. */
  until(name: string): number | undefined {
    const pause = this.#pauses.get(name);
    return pause && pause.endMs > steadyNow(this.context.clock) ? this.#untilMs(pause) : undefined;
  }

  #untilMs({ endMs }: TimedPause): number {
    const { clock } = this.context;
    return clock.now() + endMs - steadyNow(clock);
  }

  /** Forgets the failures of one name, or of all. */
  clear(name?: string): void {
    if (name === undefined) this.#pauses.clear();
    else this.#pauses.delete(name);
  }
}
