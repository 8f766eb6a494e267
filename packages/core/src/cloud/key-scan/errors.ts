import { NodepoolError } from '@nodepool/zk-protocol';
import { machineText } from '../../text/machine-text.js';

/**
 * Why a scan ended without keys before its time limit, or at it:
 * - `unresolved` the host name has no address
 * - `no-common-key-type` the server answers, but has no host key of a type this client knows
 * - `no-common-method` the server answers, but this client knows none of its methods of key exchange or encryption
 * - `refused` the server refuses connections of this address for now
 * - `protocol` the server does not complete an SSH handshake
 * - `key-mismatch` the host does not have a key that is configured for it
 */
export type KeyScanFailure =
  'unresolved' | 'no-common-key-type' | 'no-common-method' | 'refused' | 'protocol' | 'key-mismatch';

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

/** What is known of a failed handshake, see {@link HandshakeError}. */
export interface HandshakeFacts {
  /** Any text of the machine. */
  readonly machineSaid?: string | undefined;
  /** sshd refuses this address for now. */
  readonly isRefusal?: boolean | undefined;
  /** It answers, and not as an SSH server does. */
  readonly isForeign?: boolean | undefined;
  /** There is no common method, so another connection fails as well. */
  readonly isUnknownMethod?: boolean | undefined;
}

/** One connection to a server ended without its key. The message is ours; what the server said is for the log only. */
export class HandshakeError extends Error {
  /** Cut and escaped; `undefined`: nothing. */
  readonly machineSaid: string | undefined;
  readonly isRefusal: boolean;
  readonly isForeign: boolean;
  readonly isUnknownMethod: boolean;

  constructor(message: string, { machineSaid = '', isRefusal, isForeign, isUnknownMethod }: HandshakeFacts = {}) {
    super(message);
    this.machineSaid = machineSaid === '' ? undefined : machineText(machineSaid);
    this.isRefusal = isRefusal === true;
    this.isForeign = isForeign === true;
    this.isUnknownMethod = isUnknownMethod === true;
  }
}

/** What the machine said when a connection failed, for the log. */
export function machineSaidOf(error: unknown): string | undefined {
  return error instanceof HandshakeError ? error.machineSaid : undefined;
}

/** The message of a thrown value; for system calls it names the call and the address. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
