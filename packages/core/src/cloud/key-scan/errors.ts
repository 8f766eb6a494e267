import { NodepoolError } from '@nodepool/zk-protocol';

/**
 * Why a scan ended without keys before its time limit:
 * - `unresolved` the host name has no address
 * - `no-common-key-type` the server answers, but has no host key of a type this client knows
 * - `protocol` the server does not complete an SSH handshake
 * - `key-mismatch` the host does not have a key that is configured for it
 */
export type KeyScanFailure = 'unresolved' | 'no-common-key-type' | 'protocol' | 'key-mismatch';

/** The host keys of a host cannot be read, and an immediate retry would fail too. */
export class KeyScanError extends NodepoolError {
  readonly host: string;
  readonly port: number;
  readonly failure: KeyScanFailure;

  constructor(details: { host: string; port: number; failure: KeyScanFailure; message: string; cause?: unknown }) {
    super(
      'NODEPOOL_KEYSCAN',
      `${details.host} port ${details.port}: ${details.message}`,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.host = details.host;
    this.port = details.port;
    this.failure = details.failure;
  }
}

/** The message of a thrown value; for system calls it names the call and the address. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
