import type { Resources } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';

/** A limit that a new configuration changes. */
export interface LimitChange {
  /** E.g. `pool "rack/main" max-servers`. */
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

type Limits = Readonly<Record<string, string>>;

/** Changed limits of providers, pools, labels and tenants that both configurations have. */
export function describeLimitChanges(before: Config, after: Config): LimitChange[] {
  return [
    ...compareAll('provider', before.providers, after.providers, providerLimits),
    ...compareAll('pool', poolsOf(before), poolsOf(after), poolLimits),
    ...compareAll('label', before.labels, after.labels, ({ minReady, maxReadyAgeMs }) => ({
      'min-ready': String(minReady),
      'max-ready-age': ageText(maxReadyAgeMs),
    })),
    ...compareAll('tenant', before.tenantLimits, after.tenantLimits, resourceLimits),
    ...compare('max-hold-age', { '': ageText(before.maxHoldAgeMs) }, { '': ageText(after.maxHoldAgeMs) }),
  ];
}

function poolsOf({ providers }: Config): Map<string, PoolConfig> {
  return new Map(
    [...providers.values()].flatMap(({ name, pools }) =>
      [...pools.values()].map((pool) => [`${name}/${pool.name}`, pool]),
    ),
  );
}

function providerLimits({ maxConcurrency, priority }: ProviderConfig): Limits {
  return { 'max-concurrency': maxConcurrency < 0 ? 'none' : String(maxConcurrency), priority: String(priority ?? 100) };
}

function poolLimits(pool: PoolConfig): Limits {
  return {
    'max-servers': limitText(pool.maxServers),
    ...resourceLimits(pool.maxResources),
    priority: pool.priority === undefined ? "the provider's" : String(pool.priority),
    'ignore-provider-quota': String(pool.ignoreProviderQuota),
  };
}

function resourceLimits(resources: Resources): Limits {
  return Object.fromEntries(Object.entries(resources).map(([name, value]) => [`max-${name}`, limitText(value)]));
}

function compareAll<T>(
  noun: string,
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  limitsOf: (item: T) => Limits,
): LimitChange[] {
  return [...after].flatMap(([name, item]) => {
    const old = before.get(name);
    return old === undefined ? [] : compare(`${noun} "${name}"`, limitsOf(old), limitsOf(item));
  });
}

function compare(subject: string, before: Limits, after: Limits): LimitChange[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => ({
      what: `${subject} ${name}`.trim(),
      before: before[name] ?? 'none',
      after: after[name] ?? 'none',
    }))
    .filter((change) => change.before !== change.after);
}

function limitText(value: number): string {
  return Number.isFinite(value) ? String(value) : 'none';
}

function ageText(ms: number): string {
  return ms === 0 ? 'none' : `${ms / 1000} s`;
}
