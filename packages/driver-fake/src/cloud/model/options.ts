import type { Clock, JsonObject } from '@nodepool/zk-protocol';
import type { CloudRecords } from './records.js';
import type { SshSettings } from './settings.js';
import type { CloudInstance } from './types.js';

/** Gives instances a real place to be reached at. */
export interface Endpoints {
  /**
   * Begins to listen for an instance. One that had a port before gets the same again.
   * @returns what is to be known about it
   */
  open(instance: CloudInstance, ssh: SshSettings): Promise<Pick<CloudInstance, 'address' | 'port' | 'hostKeys'>>;
  /** Ends it for an instance that will never be back; fine when there is none. */
  remove(id: string): void;
  /** Ends all; the instances stay. */
  close(): void;
}

/** Options of a cloud. */
export interface FakeCloudOptions {
  readonly clock: Clock;
  /** Number in [0, 1): everything that happens by chance. The same numbers and calls give the same cloud. */
  readonly random: () => number;
  /** Knobs as in YAML. Default: an instant cloud without limits where nothing fails. */
  readonly settings?: JsonObject | undefined;
  /** Default: instances have the address `<name>.fake`, which is never contacted. */
  readonly endpoints?: Endpoints | undefined;
  /** What an earlier cloud left, and where this one keeps what must survive. Default: nothing survives. */
  readonly records?: CloudRecords | undefined;
}
