import { createHash } from 'node:crypto';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { Cloud } from './cloud.js';
import type { StoredDisk, StoredInstance, StoredOperation } from './cloud-state.js';

/** Fingerprint of labels; changes whenever they change. */
export function labelFingerprint(labels: JsonObject = {}): string {
  return createHash('sha256').update(JSON.stringify(labels)).digest('base64').slice(0, 12);
}

/** Instance resource of the API. */
export function showInstance({ shown, status }: StoredInstance): JsonObject {
  return { ...shown, status, labelFingerprint: labelFingerprint(shown['labels'] as JsonObject | undefined) };
}

/** Disk resource of the API. */
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

/** Operation resource of the API. */
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
 * Formats a time like operations do: Pacific time with its offset, without daylight saving time.
 * https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#handling_api_responses
 */
function timeOf(ms: number): string {
  return new Date(ms - 8 * 3_600_000).toISOString().replace('Z', '-08:00');
}

/** Quotas in the format of regions and projects. */
export function showQuotas(cloud: Cloud, isWanted: (metric: string) => boolean): JsonObject[] {
  return [...cloud.quotas]
    .filter(([metric]) => isWanted(metric))
    .map(([metric, limit]) => ({ metric, limit, usage: cloud.usage(metric) }));
}
