import { steadyNow, type Clock } from '@nodepool/zk-protocol';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';

/** Conditions of calls without an answer, or without a clear one. */
export const CONDITIONS = {
  CallsUnanswered: {
    ...{ kind: 'provider', severity: 'error' },
    meaning: 'calls to the cloud of a provider have had no answer for 20 s, or none that says what they did',
    reasons: { Timeout: 'the message names the calls', Unavailable: 'orders of instances; the message has the error' },
    nextStep: 'look at the API of the cloud; a longer `launch-timeout` does not help',
  },
} as const satisfies ConditionTypes;

/** A call that has not been answered. */
export interface OpenCall {
  /** Its name in metrics. */
  readonly call: string;
  /** When it was made, by the steady clock. */
  readonly sinceMs: number;
}

/** No call of a cloud that is well takes so long. */
const LATE_MS = 20_000;

/** Calls to a cloud that have not been answered; a call that was given up is shown until another is answered. */
export class OpenCalls {
  readonly #clock: Clock;
  readonly #open = new Set<OpenCall>();
  #givenUp: OpenCall | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Those that are late. */
  get late(): readonly OpenCall[] {
    const open = [...this.#open].filter((call) => this.#isLate(call));
    return this.#givenUp ? [this.#givenUp, ...open] : open;
  }

  /** Makes a call. */
  async run<T>(call: string, fn: () => Promise<T>): Promise<T> {
    const open = { call, sinceMs: steadyNow(this.#clock) };
    this.#open.add(open);
    try {
      const result = await fn();
      this.#givenUp = undefined;
      return result;
    } catch (error) {
      if (!this.#isLate(open)) this.#givenUp = undefined;
      else this.#givenUp ??= open;
      throw error;
    } finally {
      this.#open.delete(open);
    }
  }

  #isLate({ sinceMs }: OpenCall): boolean {
    return steadyNow(this.#clock) - sinceMs >= LATE_MS;
  }
}

/** The condition of a provider whose cloud does not answer. @param text - see {@link unansweredText} */
export function unansweredConditions(provider: string, text: string | undefined): FoundCondition[] {
  if (text === undefined) return [];
  return [
    newCondition(CONDITIONS, 'CallsUnanswered', {
      ...{ name: provider, reason: 'Timeout', message: text },
      nextStep: `look at the API of the cloud of provider "${provider}"; a longer launch-timeout does not help`,
    }),
  ];
}

/**
 * Calls without an answer, in words that stay true; `undefined`: there are none.
 * @param late - of all task managers of a provider
 */
export function unansweredText(late: readonly OpenCall[], clock: Clock): string | undefined {
  if (late.length === 0) return undefined;
  const passedMs = steadyNow(clock) - Math.min(...late.map(({ sinceMs }) => sinceMs));
  const since = new Date(clock.now() - passedMs).toISOString();
  const names = [...new Set(late.map(({ call }) => call))].sort().join(', ');
  return `the cloud has not answered ${late.length === 1 ? 'a call' : `${late.length} calls`} since ${since} (${names})`;
}
