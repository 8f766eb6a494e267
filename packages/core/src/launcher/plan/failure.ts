import { isNodepoolError } from '@nodepool/zk-protocol';

/**
 * The cause of a failed launch.
 * - `cloud` the cloud, its network or the instance: another cloud may succeed
 * - `capacity` no capacity for this type in this zone at the moment: the rest of the provider works
 * - `own` quota, configuration, or this service: another provider would not do better
 */
export type FailureKind = 'cloud' | 'capacity' | 'own';

const CAPACITY = 'NODEPOOL_CAPACITY';
/** Causes that stay until the definition of the label, or the driver, is repaired. */
const LASTING = ['NODEPOOL_CONFIG', 'NODEPOOL_DRIVER', 'NODEPOOL_NOT_FOUND'] as const;
const QUOTA = 'NODEPOOL_QUOTA';
const OWN = [QUOTA, 'NODEPOOL_LOCK_LOST', ...LASTING] as const;

/** Whether the cloud refused a launch for lack of quota. */
export function isOfQuota(error: unknown): boolean {
  return isNodepoolError(error, QUOTA);
}

/** Whether launches of the label fail until an operator repairs something, although no other provider would do better. */
export function isLasting(error: unknown): boolean {
  return LASTING.some((code) => isNodepoolError(error, code));
}

/** @param error - of a launch that was not aborted; a driver's own errors count as `cloud` */
export function failureKindOf(error: unknown): FailureKind {
  if (isNodepoolError(error, CAPACITY)) return 'capacity';
  if (OWN.some((code) => isNodepoolError(error, code))) return 'own';
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code.startsWith('ZK_') ? 'own' : 'cloud';
}
