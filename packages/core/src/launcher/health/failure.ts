import { isNodepoolError } from '@nodepool/zk-protocol';

/**
 * The cause of a failed launch.
 * - `cloud` the cloud, its network or the instance: another cloud may succeed
 * - `capacity` no capacity for this type in this zone at the moment: the rest of the provider works
 * - `own` quota, configuration, or this service: another provider would not do better
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

/** @param error - of a launch that was not aborted; a driver's own errors count as `cloud` */
export function failureKindOf(error: unknown): FailureKind {
  if (isNodepoolError(error, CAPACITY)) return 'capacity';
  if (OWN.some((code) => isNodepoolError(error, code))) return 'own';
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code.startsWith('ZK_') ? 'own' : 'cloud';
}
