import type { CallName, CloudCalls } from './calls.js';
import type { CloudInstance } from '../model/types.js';

/** What a client heard of one instance. `null`: it is not shown any more; `undefined`: it may have changed. */
export interface CloudChange {
  readonly id: string;
  readonly instance: CloudInstance | null | undefined;
}

/** A way to a cloud, wherever it runs. */
export interface CloudClient {
  /** Connects, and starts the cloud if it does not run. From then on changes are reported. */
  start(signal: AbortSignal): Promise<void>;
  /** Makes a call. Rejects with a `CloudFailure`, or with the signal's reason. */
  call<Name extends CallName>(
    name: Name,
    args: CloudCalls[Name][0],
    signal?: AbortSignal,
  ): Promise<CloudCalls[Name][1]>;
  /** Reports every change of a shown instance. Returns how to end it. */
  onChange(listener: (change: CloudChange) => void): () => void;
  close(): void;
}
