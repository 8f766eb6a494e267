import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import {
  newCondition,
  type ConditionSeverity,
  type FoundCondition,
  type ConditionTypes,
} from '../contract/condition.js';
import type { Config, UnservedProvider } from '../contract/config.js';

/** Conditions of providers without their driver. */
export const CONDITIONS = {
  Unserved: {
    ...{ kind: 'provider', severity: 'error' },
    meaning:
      'the driver of a provider is not installed or not known, so the service leaves the provider alone; a warning if another launcher serves it, and in a builder if it lists no diskimages',
    reasons: { DriverMissing: 'the message names the driver' },
    nextStep:
      'install the driver, or correct its name, and reload; or leave the provider to a launcher that has the driver',
  },
} as const satisfies ConditionTypes;

/**
 * Providers of a configuration whose driver is missing, as a launcher or a command sees them: a warning while another launcher
 * serves the provider.
 * @param registered - pools of all launchers
 */
export function unservedConditions(
  { unserved }: Pick<Config, 'unserved'>,
  registered: readonly Pick<PoolComponentRecord, 'providerName' | 'hostname'>[],
): FoundCondition[] {
  return [...(unserved?.values() ?? [])].map((provider) => {
    const pools = registered.filter(({ providerName }) => providerName === provider.name);
    const hosts = [...new Set(pools.map(({ hostname }) => hostname))].sort();
    return hosts.length > 0
      ? unservedCondition(provider, 'warning', `it is served by the launcher on ${hosts.join(', ')}`)
      : unservedCondition(provider, 'error', 'no launcher serves it');
  });
}

/** As {@link unservedConditions}, as a builder sees them: a warning if the provider takes no images. */
export function unservedImageConditions({ unserved }: Pick<Config, 'unserved'>): FoundCondition[] {
  return [...(unserved?.values() ?? [])].map((provider) => {
    const names = [...provider.diskimages].map((name) => `"${name}"`).join(', ');
    return names === ''
      ? unservedCondition(provider, 'warning', 'it lists no diskimages')
      : unservedCondition(provider, 'error', `this builder does not upload ${names} to it`);
  });
}

function unservedCondition(
  { name, driverName, reason }: UnservedProvider,
  severity: ConditionSeverity,
  where: string,
): FoundCondition {
  const message = `it is not served here, and its nodes and images are not changed: ${reason}; ${where}`;
  const evidence = { driver: driverName };
  return newCondition(CONDITIONS, 'Unserved', { name, reason: 'DriverMissing', severity, message, evidence });
}
