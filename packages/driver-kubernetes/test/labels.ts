import type { JsonObject } from '@nodepool/core';
import {
  readProviderConfig,
  type DriverName,
  type KubernetesLabelConfig,
  type KubernetesProviderConfig,
} from '../src/config.js';

/** A provider of one pool with these labels, as the configuration reads it. */
export function configOf(
  entry: JsonObject,
  pool: JsonObject,
  driver: DriverName = 'kubernetes',
): { config: KubernetesProviderConfig; problems: string[] } {
  const problems: string[] = [];
  const full = { name: 'cluster', driver, ...entry, pools: [{ name: 'main', ...pool }] };
  const config = readProviderConfig(driver, full, {
    labels: new Map(),
    diskimages: new Map(),
    env: { HOME: '/home/ci' },
    problem: (path, message, severity = 'error') => problems.push(`${severity} ${path.join('.')}: ${message}`),
  });
  return { config, problems };
}

/** A label of type `pod` with these keys. */
export function labelOf(keys: JsonObject, pool: JsonObject = {}): KubernetesLabelConfig {
  const { config } = configOf({}, { ...pool, labels: [{ name: 'small', type: 'pod', ...keys }] });
  const label = config.pools.get('main')?.labels.get('small');
  if (!label) throw new Error('the label was not read');
  return label;
}
