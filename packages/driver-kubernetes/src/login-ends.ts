import type { Clock, FoundCondition, Logger } from '@nodepool/core';
import { steadyNow } from '@nodepool/zk-protocol';

/** Remaining lifetime at which credentials of a program are renewed. */
export const MARGIN_MS = 60_000;
/** Longer than a program can print from a cache what soon ends. */
const PERSISTS_MS = MARGIN_MS;

/** What is wrong with the credentials that a program prints. */
export interface EndingLogin extends Pick<FoundCondition, 'message' | 'nextStep' | 'sinceMs' | 'lastSeenMs'> {
  readonly reason: 'Expired' | 'Short';
}

/** Judges when credentials that programs print end. Warns once of each cause. */
export class LoginEnds {
  readonly #clock: Pick<Clock, 'now' | 'steadyNow'>;
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #warned = new Set<string>();
  #found: EndingLogin | undefined;
  #firstSteadyMs = 0;
  #lastSteadyMs = 0;
  #goodUntilMs: number | undefined;

  constructor(clock: Pick<Clock, 'now' | 'steadyNow'>, logger: Pick<Logger, 'warn'>) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** What has been wrong for more than a minute. */
  get found(): EndingLogin | undefined {
    return this.#lastSteadyMs - this.#firstSteadyMs >= PERSISTS_MS ? this.#found : undefined;
  }

  /** Notes what a program printed. @param endsMs - `undefined`: it says no end */
  note(program: string, endsMs: number | undefined): void {
    const nowMs = this.#clock.now();
    const leftMs = (endsMs ?? Infinity) - nowMs;
    const isCached = leftMs > 0 && endsMs === this.#goodUntilMs;
    if (leftMs >= MARGIN_MS || isCached) return this.#good(endsMs);
    this.#lastSteadyMs = steadyNow(this.#clock);
    if (!this.#found) this.#firstSteadyMs = this.#lastSteadyMs;
    const wrong = leftMs > 0 ? short(program, leftMs) : expired(program, -leftMs);
    this.#found = { ...wrong, sinceMs: this.#found?.sinceMs ?? nowMs, lastSeenMs: nowMs };
    if (this.#warned.has(wrong.reason)) return;
    this.#warned.add(wrong.reason);
    this.#logger.warn('Credentials of the cluster are renewed too late', wrong);
  }

  #good(endsMs: number | undefined): void {
    this.#goodUntilMs = endsMs;
    this.#found = undefined;
    this.#firstSteadyMs = this.#lastSteadyMs;
  }
}

type Wrong = Pick<EndingLogin, 'reason' | 'message' | 'nextStep'>;

function expired(program: string, agoMs: number): Wrong {
  return {
    reason: 'Expired',
    message: `program "${program}" prints credentials that ended ${Math.round(agoMs / 1_000)} s ago, so it runs every few seconds`,
    nextStep:
      'log in again with the program, or clear its cache, as the user of the launcher; check the clock of the computer',
  };
}

function short(program: string, leftMs: number): Wrong {
  return {
    reason: 'Short',
    message: `program "${program}" prints credentials that end in ${Math.round(leftMs / 1_000)} s, so it runs every few seconds`,
    nextStep:
      'let the program print credentials that are valid for several minutes: its options, or the login service, set how long',
  };
}
