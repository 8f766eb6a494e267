import type { CallName, CloudCalls } from './calls.js';
import type { CloudInstance } from '../model/types.js';

/** A change of one instance. `null`: it is no longer listed; `undefined`: it may have changed. */
export interface CloudChange {
  readonly id: string;
  readonly instance: CloudInstance | null | undefined;
}

/** A connection to a cloud in this or another process. */
export interface CloudClient {
  /** Connects, starting the cloud if necessary, and reports changes from then on. */
  start(signal: AbortSignal): Promise<void>;
  /** Makes a call. Rejects with a `CloudFailure`, or with the signal's reason. */
  call<Name extends CallName>(
    name: Name,
    args: CloudCalls[Name][0],
    signal?: AbortSignal,
  ): Promise<CloudCalls[Name][1]>;
  /** Subscribes to changes of listed instances. @returns unsubscribe */
  onChange(listener: (change: CloudChange) => void): () => void;
  close(): void;
}
