import type { Clock, ComponentRecord } from '@nodepool/zk-protocol';
import type { FoundCondition } from '@nodepool/core';
import { fetchService, newCondition, serviceName, type ConditionTypes } from '@nodepool/core/service';
import { describeError } from '../command/errors.js';

/** Conditions of services, as a command sees them. */
export const CONDITIONS = {
  NoAnswer: {
    ...{ kind: 'launcher', severity: 'error' },
    meaning: 'a service is registered, but its web server does not answer; its other conditions are `unknown`',
    reasons: { Unreachable: 'no connection, or no answer in time' },
    nextStep: 'check the process and its log',
  },
  ClockSkew: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'the clock of a service differs from that of the machine of the command by more than 5 s',
    reasons: { Clock: 'one of the two clocks is wrong' },
    nextStep: 'timedatectl set-ntp true, on the machine whose clock is wrong',
  },
} as const satisfies ConditionTypes;

const ANSWER_MS = 3_000;
/** A larger clock skew makes ages, holds and orders wrong. */
const MOST_SKEW_MS = 5_000;
const MS_PER_SECOND = 1_000;

/** Whether a registered service answers, and conditions that it cannot detect itself. */
export interface ServiceAnswer {
  readonly component: ComponentRecord;
  readonly isSilent: boolean;
  readonly found: readonly FoundCondition[];
}

/** Probes a service; never rejects. @param url - of its web server; `undefined`: it registered none */
export async function askService(
  component: ComponentRecord,
  url: string | undefined,
  clock: Clock,
): Promise<ServiceAnswer> {
  if (url === undefined) return { component, isSilent: false, found: [] };
  const { kind, hostname } = component;
  try {
    const response = await fetchService(new URL('/healthz', url), { signal: AbortSignal.timeout(ANSWER_MS) });
    return { component, isSilent: false, found: skewOf(component, response.headers.get('date'), clock) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const message = `it is registered, and its web server at ${url} does not answer: ${describeError(cause)}`;
    const nextStep = `curl ${url}/healthz, and the log of nodepool-${kind} on ${hostname}`;
    const details = {
      kind: kind === 'builder' ? 'builder' : 'launcher',
      name: serviceName(component),
      reason: 'Unreachable',
      message,
      nextStep,
    } as const;
    return { component, isSilent: true, found: [newCondition(CONDITIONS, 'NoAnswer', details)] };
  }
}

/** The header has whole seconds. */
function skewOf(component: ComponentRecord, date: string | null, clock: Clock): FoundCondition[] {
  const skewMs = Date.parse(date ?? '') - clock.now();
  if (Number.isNaN(skewMs) || Math.abs(skewMs) <= MOST_SKEW_MS) return [];
  const seconds = Math.round(Math.abs(skewMs) / MS_PER_SECOND);
  const message = `its clock is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the one of this machine`;
  return [
    newCondition(CONDITIONS, 'ClockSkew', {
      ...{ name: serviceName(component), reason: 'Clock', message, evidence: { skew: skewMs / MS_PER_SECOND } },
    }),
  ];
}
