import type { JsonObject } from '@nodepool/zk-protocol';
import type { OperationError, StoredInstance, StoredOperation } from './cloud-state.js';

/** What stopping and starting needs of the cloud. */
export interface PowerParts {
  readonly stopMs: number;
  readonly startMs: number;
  begin(type: string, zone: string, name: string): StoredOperation;
  end(operation: StoredOperation, error?: OperationError): void;
  later(ms: number, event: () => void): void;
  /** Why the instance cannot run now. */
  refusalOf(instance: StoredInstance): OperationError | undefined;
  /** A new external address. */
  newAddress(name: string): string;
}

/** Stops and starts instances. */
export class Power {
  readonly #parts: PowerParts;

  constructor(parts: PowerParts) {
    this.#parts = parts;
  }

  /**
   * https://cloud.google.com/compute/docs/instances/stop-start-instance: `STOPPING`, then `TERMINATED`. An ephemeral external
   * address is released: https://cloud.google.com/compute/docs/ip-addresses#ephemeral_external_ip_addresses
   */
  stop(instance: StoredInstance): StoredOperation {
    const operation = this.#parts.begin('stop', instance.zone, instance.name);
    if (instance.status === 'TERMINATED') {
      this.#parts.end(operation);
      return operation;
    }
    instance.status = 'STOPPING';
    this.#parts.later(this.#parts.stopMs, () => {
      if (instance.status === 'STOPPING') instance.status = 'TERMINATED';
      setAddress(instance, undefined);
      this.#parts.end(operation);
    });
    return operation;
  }

  /** A stopped instance has no claim to the CPUs that it had: the start may fail for lack of stock. */
  start(instance: StoredInstance): StoredOperation {
    const parts = this.#parts;
    const operation = parts.begin('start', instance.zone, instance.name);
    const refusal = instance.status === 'TERMINATED' ? parts.refusalOf(instance) : undefined;
    if (refusal || instance.status !== 'TERMINATED') {
      parts.end(operation, refusal);
      return operation;
    }
    instance.status = 'STAGING';
    parts.later(parts.startMs, () => {
      if (instance.status === 'STAGING') instance.status = 'RUNNING';
      setAddress(instance, parts.newAddress(instance.name));
      parts.end(operation);
    });
    return operation;
  }
}

/** @param address - `undefined`: none */
function setAddress({ shown }: StoredInstance, address: string | undefined): void {
  const interfaces = shown['networkInterfaces'] as JsonObject[];
  shown['networkInterfaces'] = interfaces.map((one) => {
    if (!Array.isArray(one['accessConfigs'])) return one;
    const accessConfigs = one['accessConfigs'].map((access) => {
      const { natIP: _former, ...rest } = access as JsonObject;
      return { ...rest, ...(address !== undefined && { natIP: address }) };
    });
    return { ...one, accessConfigs };
  });
}
