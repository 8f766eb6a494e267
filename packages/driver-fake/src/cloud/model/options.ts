import type { Clock, JsonObject } from '@nodepool/zk-protocol';
import type { CloudRecords } from './records.js';
import type { SshSettings } from './settings.js';
import type { CloudInstance } from './types.js';

/** Runs real servers for instances. */
export interface Endpoints {
  /**
   * Starts the server of an instance. An instance that had a port before gets the same port.
   * @returns its address, port and host keys
   */
  open(instance: CloudInstance, ssh: SshSettings): Promise<Pick<CloudInstance, 'address' | 'port' | 'hostKeys'>>;
  /** Stops the server of an instance until it is opened again; does nothing if there is none. */
  halt(id: string): void;
  /** Stops the server of an instance for good; does nothing if there is none. */
  remove(id: string): void;
  /** Stops all servers; the instances stay. */
  close(): void;
}

/** Options of a cloud. */
export interface FakeCloudOptions {
  readonly clock: Clock;
  /** Numbers in [0, 1). The same numbers and calls give the same cloud. */
  readonly random: () => number;
  /** Settings as in YAML. Default: no delays, limits or failures. */
  readonly settings?: JsonObject | undefined;
  /** Default: instances have the address `<name>.fake`, which is never contacted. */
  readonly endpoints?: Endpoints | undefined;
  /** Store that survives the process, with the records of an earlier one. Default: in memory. */
  readonly records?: CloudRecords | undefined;
}
