import type { Resources } from '@nodepool/core';
import type { ApiQuantities } from './api.js';

const SUFFIXES: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};
const QUANTITY = /^([+-]?[0-9.]+)(?:([eE][+-]?[0-9]+)|([a-zA-Z]*))$/;
const MIB = 2 ** 20;
const MB = 1e6;

/**
 * A quantity as a number, in cores or bytes; `undefined`: not one.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export function parseQuantity(text: string): number | undefined {
  const [, digits, exponent = '', suffix = ''] = QUANTITY.exec(text.trim()) ?? [];
  const factor = SUFFIXES[suffix];
  if (digits === undefined || factor === undefined) return undefined;
  const value = Number(`${digits}${exponent}`);
  return Number.isFinite(value) ? Number((value * factor).toPrecision(15)) : undefined;
}

/** Names and units of Nodepool, by the name of a quota. Not listed: objects that a node does not count against. */
const NAMES: Readonly<Record<string, { readonly name: string; readonly unit: number }>> = {
  pods: { name: 'instances', unit: 1 },
  'count/pods': { name: 'instances', unit: 1 },
  cpu: { name: 'cores', unit: 1 },
  'requests.cpu': { name: 'cores', unit: 1 },
  memory: { name: 'ram', unit: MIB },
  'requests.memory': { name: 'ram', unit: MIB },
  'ephemeral-storage': { name: 'ephemeral-storage', unit: MB },
  'requests.ephemeral-storage': { name: 'ephemeral-storage', unit: MB },
  'limits.cpu': { name: 'limits.cpu', unit: 1 },
  'limits.memory': { name: 'limits.memory', unit: MIB },
  'limits.ephemeral-storage': { name: 'limits.ephemeral-storage', unit: MB },
};
const EXTENDED = /^requests\.([^/]+\/[^/]+)$/;

/** Amounts under Nodepool's names: `cores`, `ram` in MiB, `ephemeral-storage` in MB. The smallest of each name. */
export function toResources(amounts: ApiQuantities): Resources {
  const resources: Resources = {};
  for (const [key, text] of Object.entries(amounts)) {
    const extended = EXTENDED.exec(key)?.[1];
    const known = extended === undefined ? NAMES[key] : { name: extended, unit: 1 };
    const value = parseQuantity(text);
    if (!known || value === undefined) continue;
    resources[known.name] = Math.min(resources[known.name] ?? Infinity, value / known.unit);
  }
  return resources;
}
