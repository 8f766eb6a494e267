import { createHash } from 'node:crypto';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { Cloud } from './cloud.js';
import type { StoredDisk, StoredInstance, StoredOperation } from './cloud-state.js';

/** Changes with each change of the labels. */
export function labelFingerprint(labels: JsonObject = {}): string {
  return createHash('sha256').update(JSON.stringify(labels)).digest('base64').slice(0, 12);
}

/** An instance as the API shows it. */
export function showInstance({ shown, status }: StoredInstance): JsonObject {
  return { ...shown, status, labelFingerprint: labelFingerprint(shown['labels'] as JsonObject | undefined) };
}

/** A disk as the API shows it. */
export function showDisk(cloud: Cloud, { zone, name, sizeGib, type, labels, user }: StoredDisk): JsonObject {
  return {
    kind: 'compute#disk',
    name,
    zone: cloud.url(`zones/${zone}`),
    status: 'READY',
    sizeGb: String(sizeGib),
    type: cloud.url(`zones/${zone}/diskTypes/${type}`),
    labels,
    labelFingerprint: labelFingerprint(labels),
    ...(user !== undefined && { users: [user] }),
  };
}

/** An operation as the API shows it. */
export function showOperation(cloud: Cloud, operation: StoredOperation): JsonObject {
  const { name, zone, type, target, insertedMs, endedMs, error } = operation;
  return {
    kind: 'compute#operation',
    name,
    zone: cloud.url(`zones/${zone}`),
    operationType: type,
    targetLink: cloud.url(`zones/${zone}/instances/${target}`),
    selfLink: cloud.url(`zones/${zone}/operations/${name}`),
    status: endedMs === undefined ? 'RUNNING' : 'DONE',
    progress: endedMs === undefined ? 0 : 100,
    insertTime: timeOf(insertedMs),
    ...(endedMs !== undefined && { endTime: timeOf(endedMs) }),
    ...(error && {
      httpErrorStatusCode: error.httpStatus,
      httpErrorMessage: error.httpStatus === 403 ? 'FORBIDDEN' : 'SERVICE UNAVAILABLE',
      error: { errors: [{ code: error.code, message: error.message }] },
    }),
  };
}

/**
 * A time as operations show it: of California, with its offset. (Summer time is left out.)
 * https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#handling_api_responses
 */
function timeOf(ms: number): string {
  return new Date(ms - 8 * 3_600_000).toISOString().replace('Z', '-08:00');
}

/** Quotas as a region or a project shows them. */
export function showQuotas(cloud: Cloud, isWanted: (metric: string) => boolean): JsonObject[] {
  return [...cloud.quotas]
    .filter(([metric]) => isWanted(metric))
    .map(([metric, limit]) => ({ metric, limit, usage: cloud.usage(metric) }));
}
