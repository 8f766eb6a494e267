import { isNodepoolError } from '@nodepool/zk-protocol';

/**
 * What a failed launch says about its provider.
 * - `cloud` the cloud, its network or the instance is at fault: another cloud may do better
 * - `capacity` there is no capacity for this type in this zone just now: the rest of the provider is fine
 * - `own` quota, configuration, or our own side: another provider would not do better for that
 */
export type FailureKind = 'cloud' | 'capacity' | 'own';

const CAPACITY = 'NODEPOOL_CAPACITY';
const OWN = [
  'NODEPOOL_QUOTA',
  'NODEPOOL_CONFIG',
  'NODEPOOL_DRIVER',
  'NODEPOOL_NOT_FOUND',
  'NODEPOOL_LOCK_LOST',
] as const;

/** @param error - of a launch that was not aborted; drivers' own errors count as the cloud's */
export function failureKindOf(error: unknown): FailureKind {
  if (isNodepoolError(error, CAPACITY)) return 'capacity';
  if (OWN.some((code) => isNodepoolError(error, code))) return 'own';
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code.startsWith('ZK_') ? 'own' : 'cloud';
}
