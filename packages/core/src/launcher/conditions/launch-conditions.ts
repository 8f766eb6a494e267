import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import { adviceFor } from '../../conditions/error-reason.js';
import { notStartedCondition } from '../../conditions/shared-conditions.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import type { SteeringReport } from '../plan/steering.js';
import type { LabelOffer } from './label-offers.js';
import { firstOf } from '../../text/first-of.js';

/** Conditions of launches. */
export const CONDITIONS = {
  LaunchesFail: {
    ...{ kind: 'provider', severity: 'error' },
    meaning:
      'consecutive launches in a provider, or other calls to its cloud, failed; requests go to other providers, if any',
    ...{ reasons: 'errors', nextStep: 'by reason' },
  },
  LabelLaunchesFail: {
    ...{ kind: 'label', severity: 'warning' },
    meaning:
      'three launch attempts of one label in one provider failed in a row, or two within more than 20 s, of refusals for lack of quota three within more than 20 s, whatever other labels do there; the name is `PROVIDER/LABEL`',
    reasons: 'errors',
    nextStep:
      'by reason; with NoCapacity, where no launch has been ready since the launcher started: look at the flavor, the image and the zone',
  },
  SlowLaunches: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'launches take much longer than usual; other providers of the same priority are preferred',
    reasons: { Slow: 'the cloud is slow' },
    nextStep: 'wait until the cloud recovers',
  },
} as const satisfies ConditionTypes;

/** Labels named in one message. */
const MOST_NAMED = 10;

/** Further facts for conditions of providers. */
export interface ProviderFacts {
  /** The pools that have each label. */
  readonly offers: ReadonlyMap<string, readonly LabelOffer[]>;
  /** Conditions of drivers. */
  readonly ofDrivers: readonly FoundCondition[];
}

/** Providers that could not be started. */
export function startConditions(runners: Iterable<ProviderRunner>, offers: ProviderFacts['offers']): FoundCondition[] {
  return [...runners].flatMap(({ name, startFailure }) => {
    return startFailure ? [notStartedCondition(name, startFailure, elsewhere(name, offers))] : [];
  });
}

/** Providers whose launches or calls fail, or are slow, and labels whose launches fail in one of them. */
export function launchConditions(
  reports: readonly { readonly provider: string; readonly report: SteeringReport }[],
  facts: ProviderFacts,
): FoundCondition[] {
  return reports.flatMap(({ provider, report }) => [
    ...failingProvider(provider, report, facts),
    ...[...report.labels, ...report.doubted]
      .filter(({ label }) => !isUnavailable(label, provider, facts))
      .map(({ label, health, neverReady }) =>
        newCondition(CONDITIONS, 'LabelLaunchesFail', {
          name: `${provider}/${label}`,
          ...ofHealth(health, `launches of label "${label}"`, { provider, neverReady }),
          evidence: { provider, label, ...evidenceOf(health) },
        }),
      ),
    ...slowProvider(provider, report),
  ]);
}

/** Pools with such obstacles launch no node, and so probe no label; another condition says why. */
const NO_LAUNCHES: ReadonlySet<string> = new Set(['LabelUnavailable', 'ImageMissing']);

function isUnavailable(label: string, provider: string, { offers }: ProviderFacts): boolean {
  const pools = offers.get(label)?.filter((pool) => pool.provider === provider) ?? [];
  return pools.length > 0 && pools.every(({ obstacle }) => NO_LAUNCHES.has(obstacle?.reason ?? ''));
}

type HealthReport = SteeringReport['provider'];

/** Prefers the driver's advice if it has found the same cause. */
function failingProvider(
  name: string,
  { provider: health, failing }: SteeringReport,
  { offers, ofDrivers }: ProviderFacts,
): FoundCondition[] {
  if (health.state === 'healthy') return [];
  const found = ofHealth(health, failing, { provider: name });
  const cause = ofDrivers.find(
    (other) => other.kind === 'provider' && other.name === name && other.reason === found.reason,
  );
  const message = `${found.message}; ${elsewhere(name, offers)}`;
  const nextStep = cause?.nextStep ?? found.nextStep;
  return [
    newCondition(CONDITIONS, 'LaunchesFail', { name, ...found, message, nextStep, evidence: evidenceOf(health) }),
  ];
}

function slowProvider(name: string, { speed }: SteeringReport): FoundCondition[] {
  if (speed.state === 'healthy') return [];
  const message = `launches take much longer than usual: ${speed.error ?? 'no reason is known'}`;
  const times = { sinceMs: speed.sinceMs, lastSeenMs: speed.failedMs };
  return [
    newCondition(CONDITIONS, 'SlowLaunches', {
      name,
      reason: 'Slow',
      message,
      nextStep: '',
      ...times,
      evidence: evidenceOf(speed),
    }),
  ];
}

function ofHealth(
  health: HealthReport,
  what: string,
  of: { readonly provider: string; readonly neverReady?: boolean },
) {
  const { failures, error = 'no reason is known', reason = 'Error', sinceMs, failedMs: lastSeenMs } = health;
  const message = `${failures} ${what} in a row failed: ${error}`;
  return { reason, message, nextStep: adviceFor(reason, of.provider, of.neverReady), sinceMs, lastSeenMs };
}

function evidenceOf({ state, failures, nextProbeMs }: HealthReport): FoundCondition['evidence'] {
  if (state === 'healthy') return { failures }; // it is not probed
  return { failures, nextProbe: nextProbeMs === undefined ? null : nextProbeMs / 1_000 };
}

/** Whether other providers serve the labels of this one, in words. */
function elsewhere(provider: string, offers: ProviderFacts['offers']): string {
  const own = [...offers].filter(([, pools]) => pools.some((pool) => pool.provider === provider));
  const isServed = (pools: readonly LabelOffer[]) =>
    pools.some((pool) => pool.provider !== provider && pool.obstacle === undefined);
  const stranded = own.filter(([, pools]) => !isServed(pools)).map(([label]) => `"${label}"`);
  if (own.length === 0) return 'no label needs it';
  if (stranded.length === 0) return 'other providers serve its labels';
  return `no other provider serves ${firstOf(stranded, MOST_NAMED)}`;
}
