import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import type { CallPause } from './call-pauses.js';

/** Conditions of refused calls. */
export const CONDITIONS = {
  CallsPaused: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'the cloud refuses calls of a provider as too many; calls of this kind are paused as it asks, for five minutes at a time at most; others are made',
    reasons: { TooManyCalls: 'the message names the calls, the refusal, and when the next call is made' },
    nextStep: 'wait; if it comes back, lower the `rate` of the provider, or have the limit of the account raised',
  },
} as const satisfies ConditionTypes;

/** Shorter pauses are everyday life. */
const SHOWN_FROM_MS = 30_000;

/**
 * The condition of a provider whose cloud asks to wait for long.
 * @param pauses - of all its task managers
 */
export function pauseConditions(provider: string, pauses: readonly CallPause[]): FoundCondition[] {
  const long = pauses.filter(({ pauseMs }) => pauseMs >= SHOWN_FROM_MS).sort((a, b) => b.untilMs - a.untilMs);
  const [last] = long;
  if (!last) return [];
  const calls = [...new Set(long.map(({ call }) => call))].sort().join(', ');
  const asked = last.askedMs === undefined ? '' : ` and asked to wait ${Math.ceil(last.askedMs / 1_000)} s`;
  const until = new Date(last.untilMs).toISOString();
  return [
    newCondition(CONDITIONS, 'CallsPaused', {
      ...{ name: provider, reason: 'TooManyCalls' },
      message: `the cloud refused ${calls} as too many calls${asked}; the next is made at ${until}: ${last.message}`,
      nextStep: 'wait; if it comes back, lower the rate of the provider, or have the limit of the account raised',
      evidence: { calls, until: Math.ceil(last.untilMs / 1_000), asked: toSeconds(last.askedMs) },
    }),
  ];
}

function toSeconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.ceil(ms / 1_000);
}
