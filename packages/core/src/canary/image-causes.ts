import { isNodepoolError } from '@nodepool/zk-protocol';

/** What a bad image can cause: it does not boot in time, its network or SSH server does not work, or its flavor is too small. */
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
 * Whether a failed launch may be the fault of the image. Lack of quota or capacity, and calls that the cloud refuses or does not
 * answer, are not. An error without a code of ours, from a driver that names no cause, may be.
 */
export function mayBeFaultOfImage(error: Error): boolean {
  if (error.name === 'AbortError') return false;
  if (CAUSES.some((code) => isNodepoolError(error, code))) return true;
  const code: unknown = 'code' in error ? error.code : undefined;
  return !(typeof code === 'string' && /^(?:NODEPOOL|ZK)_/.test(code));
}
