import { isNodepoolError } from '@nodepool/zk-protocol';

/** Errors that a bad image can cause: it does not boot in time, its network or SSH fails, or it does not fit its flavor. */
const CAUSES = [
  'NODEPOOL_LAUNCH_STATUS',
  'NODEPOOL_CREATE_TIMEOUT',
  'NODEPOOL_NETWORK',
  'NODEPOOL_KEYSCAN',
  'NODEPOOL_SSH',
  'NODEPOOL_TIMEOUT',
  'NODEPOOL_CLOUD_BAD_REQUEST',
] as const;

/**
 * Whether the image may have caused a failed launch. Lack of quota or capacity, and refused or unanswered calls, are other causes.
 * An error without a known code may be caused by the image, as its driver names no cause.
 */
export function mayBeFaultOfImage(error: Error): boolean {
  if (error.name === 'AbortError') return false;
  if (CAUSES.some((code) => isNodepoolError(error, code))) return true;
  const code: unknown = 'code' in error ? error.code : undefined;
  return !(typeof code === 'string' && /^(?:NODEPOOL|ZK)_/.test(code));
}
