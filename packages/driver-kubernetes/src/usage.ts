import { ConfigError, sumResources, type Resources } from '@nodepool/core';
import type { ApiLimitRange, ApiPod, ApiQuantities, ApiResourceQuota } from './api.js';
import type { KubernetesLabelConfig } from './config.js';
import { toResources } from './quantity.js';

/** What a pod of a label counts as in a quota of its namespace, by the names of node records. */
export function needOf(label: KubernetesLabelConfig, ranges: readonly ApiLimitRange[] = []): Resources {
  const { requests, limits, gpu, gpuResource, extraResources, spec } = label;
  const stated = spec ? ofContainers(containersIn(spec)) : { ...amountsOf(requests), ...limitsOf(limits) };
  return {
    ...(label.type === 'pod' && !spec && defaultsOf(ranges)),
    ...stated,
    ...(gpu && gpuResource !== undefined && { [gpuResource]: gpu }),
    ...extraResources,
    instances: 1,
  };
}

/** What a node record says that the node uses: no limits, as the original stores none. */
export function recordedNeed(label: KubernetesLabelConfig): Resources {
  return Object.fromEntries(Object.entries(needOf(label)).filter(([name]) => !name.startsWith('limits.')));
}

function amountsOf({ cpu, memoryMib, storageMb }: KubernetesLabelConfig['requests']): Resources {
  return {
    ...(cpu && { cores: cpu }),
    ...(memoryMib && { ram: memoryMib }),
    ...(storageMb && { 'ephemeral-storage': storageMb }),
  };
}

function limitsOf({ cpu, memoryMib, storageMb }: KubernetesLabelConfig['limits']): Resources {
  return {
    ...(cpu && { 'limits.cpu': cpu }),
    ...(memoryMib && { 'limits.memory': memoryMib }),
    ...(storageMb && { 'limits.ephemeral-storage': storageMb }),
  };
}

/** What a pod counts as. */
export function usageOf({ spec, status }: ApiPod): Resources {
  const hasEnded = status?.phase === 'Failed' || status?.phase === 'Succeeded';
  return hasEnded ? {} : { ...ofContainers(spec?.containers ?? []), instances: 1 };
}

type Container = NonNullable<NonNullable<ApiPod['spec']>['containers']>[number];

/** The specification of an operator is checked by the server, not here. */
function containersIn(spec: object): readonly Container[] {
  const { containers } = spec as { containers?: unknown };
  return Array.isArray(containers) ? (containers as Container[]) : [];
}

function ofContainers(containers: readonly Container[]): Resources {
  return sumResources(
    containers.map(({ resources: { requests, limits } = {} }) => ({
      // a limit without a request is the request
      ...toResources({ ...prefixed('requests.', limits), ...prefixed('requests.', requests) }),
      ...toResources(prefixed('limits.', limits)),
    })),
  );
}

function prefixed(prefix: string, amounts: ApiQuantities = {}): ApiQuantities {
  return Object.fromEntries(Object.entries(amounts).map(([key, value]) => [`${prefix}${key}`, value]));
}

/** Defaults that a namespace gives to containers without requests. */
export function defaultsOf(ranges: readonly ApiLimitRange[]): Resources {
  const found = ranges.flatMap(({ spec }) => spec.limits).filter(({ type }) => type === 'Container');
  const defaults = found.map((one) => ({
    ...toResources({ ...prefixed('requests.', one.default), ...prefixed('requests.', one.defaultRequest) }),
    ...toResources(prefixed('limits.', one.default)),
  }));
  return Object.assign({}, ...defaults) as Resources;
}

/** @throws {ConfigError} the label is larger than the namespace lets a pod be */
export function checkRanges(label: KubernetesLabelConfig, ranges: readonly ApiLimitRange[], namespace: string): void {
  const need = needOf(label, ranges);
  for (const { metadata, spec } of ranges) {
    for (const { type, max } of spec.limits) {
      if ((type !== 'Container' && type !== 'Pod') || !max) continue;
      for (const [name, most] of Object.entries(toResources(prefixed('limits.', max)))) {
        const asked = need[name] ?? 0;
        if (asked <= most) continue;
        const message = `label "${label.name}" has ${asked} of ${name}, LimitRange "${metadata.name}" allows ${most}`;
        throw new ConfigError(`${message} in namespace "${namespace}"`, [], {
          reason: 'LargerThanQuota',
          nextStep: `lower ${name} of the label, or raise the LimitRange`,
        });
      }
    }
  }
}

/**
 * Remaining quota of this provider: limits minus the usage of others. Quotas with scopes are left out, as their objects
 * cannot be told in advance: a pod that exceeds one is refused, and its launch waits.
 */
export function limitsFor(quotas: readonly ApiResourceQuota[], own: Resources): Resources {
  const limits: Resources = {};
  for (const { spec, status } of quotas) {
    if ((spec?.scopes?.length ?? 0) > 0 || spec?.scopeSelector) continue;
    const used = toResources(status?.used ?? {});
    for (const [name, hard] of Object.entries(toResources(status?.hard ?? {}))) {
      const byOthers = Math.max(0, (used[name] ?? 0) - (own[name] ?? 0));
      limits[name] = Math.min(limits[name] ?? Infinity, Math.max(0, hard - byOthers));
    }
  }
  return limits;
}
