import type { JsonObject } from '@nodepool/zk-protocol';

/** An instance. */
export interface StoredInstance {
  readonly zone: string;
  readonly name: string;
  readonly machineType: string;
  readonly isSpot: boolean;
  /** Name of its boot disk, deleted together with it. */
  readonly bootDisk: string;
  /** Resource in API responses. */
  readonly shown: JsonObject;
  status: string;
  guestAttributes: Record<string, string>;
}

/** A disk. */
export interface StoredDisk {
  readonly zone: string;
  readonly name: string;
  readonly sizeGib: number;
  readonly type: string;
  labels: JsonObject;
  /** The instance it is attached to. */
  user: string | undefined;
}

/** A long-running operation. */
export interface StoredOperation {
  readonly name: string;
  readonly zone: string;
  readonly type: string;
  readonly target: string;
  readonly insertedMs: number;
  endedMs: number | undefined;
  error: OperationError | undefined;
}

/** Reason of a failed operation. https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#handling_api_responses */
export interface OperationError {
  readonly code: string;
  readonly message: string;
  readonly httpStatus: number;
}

/** All resources, by `zone/name`. */
export class CloudState {
  readonly instances = new Map<string, StoredInstance>();
  readonly disks = new Map<string, StoredDisk>();
  readonly operations = new Map<string, StoredOperation>();
  /** Operations by request id. */
  readonly requests = new Map<string, StoredOperation>();
  /** The newest image of each family, by `project/family`. */
  readonly families = new Map<string, string>();
  #next = 1;

  /** Returns a unique number as a string. */
  nextId(): string {
    return String(4_000_000_000_000_000_000n + BigInt(this.#next++));
  }
}
