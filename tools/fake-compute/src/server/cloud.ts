import type { Clock, JsonObject } from '@nodepool/zk-protocol';
import { ApiError, notFound } from './api-error.js';
import { CloudState, type OperationError, type StoredInstance, type StoredOperation } from './cloud-state.js';
import { checkInsert } from './insert-rules.js';
import { cpuQuotaOf, sizeOf } from './machine-types.js';
import { bootDiskOf, type BootDisk } from './boot-disk.js';
import type { FailureKind, FakeComputeOptions } from './options.js';
import { Power } from './power.js';
import { refusalOf, stockOutOf } from './refusals.js';

const DEFAULTS = { bootMs: 2_000, deleteMs: 1_000 };
/** Duration of a refused insert and of a disk deletion. */
const REFUSED_MS = 200;

/** Machines, disks and operations, with their changes over time. */
export class Cloud {
  readonly state = new CloudState();
  readonly project: string;
  readonly regions: Readonly<Record<string, readonly string[]>>;
  /** Out of stock: `zone/machine type`. */
  readonly exhausted = new Set<string>();
  /** Machine types that are not yet available in any zone. */
  readonly futureTypes = new Set<string>();
  /** Zones that fail every call. */
  readonly unreachable = new Set<string>();
  readonly quotas: Map<string, number>;
  readonly power: Power;
  readonly #options: FakeComputeOptions;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #addresses = 0;

  constructor(options: FakeComputeOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.project = options.project ?? 'test-project';
    this.regions = options.regions ?? { 'us-central1': ['us-central1-a', 'us-central1-b', 'us-central1-f'] };
    this.quotas = new Map(Object.entries(options.quotas ?? {}));
    this.power = new Power({
      stopMs: options.deleteMs ?? DEFAULTS.deleteMs,
      startMs: (options.bootMs ?? DEFAULTS.bootMs) / 2,
      begin: (...what) => this.#begin(...what),
      end: (operation, error) => this.#end(operation, error),
      later: (ms, event) => this.#later(ms, event),
      refusalOf: (instance) => stockOutOf(this, instance),
      newAddress: (name) => options.addressOf?.(name) ?? `${name}-${++this.#addresses}.fake`,
    });
  }

  /** Calls `listener` when an operation has ended. @returns a function that unsubscribes */
  onOperation(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  url(path: string): string {
    return `https://www.googleapis.com/compute/v1/projects/${this.project}/${path}`;
  }

  hasZone(zone: string): boolean {
    return Object.values(this.regions).some((zones) => zones.includes(zone));
  }

  /**
   * Accepts an insert. After an internal error the boot disk may remain without an instance:
   * https://github.com/mitchellh/vagrant-google/issues/148, https://github.com/mitchellh/vagrant-google/issues/112
   */
  insert(zone: string, body: JsonObject, failure: FailureKind | undefined): StoredOperation {
    checkInsert(body, zone);
    const name = body['name'] as string;
    const machineType = (body['machineType'] as string).split('/').at(-1) ?? '';
    const size = sizeOf(machineType);
    if (!size) throw notFound(`projects/${this.project}/zones/${zone}/machineTypes/${machineType}`);
    this.#checkImages(body);
    const key = `${zone}/${name}`;
    if (this.state.instances.has(key)) throw this.#alreadyExists(`zones/${zone}/instances/${name}`);
    const disk = bootDiskOf(body);
    if (this.state.disks.has(`${zone}/${disk.name}`)) throw this.#alreadyExists(`zones/${zone}/disks/${disk.name}`);
    const operation = this.#begin('insert', zone, name);
    const refusal = refusalOf(this, { zone, machineType, body, failure });
    if (refusal) {
      if (failure === 'operation-error') this.#makeDisk(zone, disk, undefined);
      this.#later(REFUSED_MS, () => this.#end(operation, refusal));
      return operation;
    }
    const instance = this.#makeInstance(zone, name, machineType, body);
    this.state.instances.set(key, instance);
    this.#makeDisk(zone, disk, this.url(`zones/${zone}/instances/${name}`));
    this.#boot(instance, operation, failure);
    return operation;
  }

  /** https://cloud.google.com/compute/docs/instances/instance-life-cycle: `STOPPING` until it is gone */
  delete(zone: string, name: string): StoredOperation {
    const instance = this.state.instances.get(`${zone}/${name}`);
    if (!instance) throw notFound(`projects/${this.project}/zones/${zone}/instances/${name}`);
    const operation = this.#begin('delete', zone, name);
    instance.status = 'STOPPING';
    this.#later(this.#options.deleteMs ?? DEFAULTS.deleteMs, () => {
      this.remove(instance);
      this.#end(operation, undefined);
    });
    return operation;
  }

  /** Records a change that took effect immediately. @returns its operation, which has ended */
  noteChange(type: string, zone: string, name: string): StoredOperation {
    const operation = this.#begin(type, zone, name);
    this.#end(operation, undefined);
    return operation;
  }

  /** Refuses to delete a disk in use with 400: https://github.com/hashicorp/terraform/issues/23698 */
  deleteDisk(zone: string, name: string): StoredOperation {
    const key = `${zone}/${name}`;
    const disk = this.state.disks.get(key);
    const path = `projects/${this.project}/zones/${zone}/disks/${name}`;
    if (!disk) throw notFound(path);
    if (disk.user !== undefined) {
      const why = `The disk resource '${path}' is already being used by '${disk.user}'`;
      throw new ApiError(400, 'resourceInUseByAnotherResource', why);
    }
    const operation = this.#begin('delete', zone, name);
    this.#later(REFUSED_MS, () => {
      this.state.disks.delete(key);
      this.#end(operation, undefined);
    });
    return operation;
  }

  /** Removes an instance and its disk without an operation. */
  remove(instance: StoredInstance): void {
    const key = `${instance.zone}/${instance.name}`;
    if (this.state.instances.get(key) !== instance) return;
    this.state.instances.delete(key);
    this.state.disks.delete(`${instance.zone}/${instance.bootDisk}`);
  }

  /** Preempts a Spot VM. https://cloud.google.com/compute/docs/instances/spot#preemption-process */
  preempt(name: string): void {
    for (const instance of this.state.instances.values()) {
      if (instance.name !== name) continue;
      const scheduling = instance.shown['scheduling'] as JsonObject;
      const operation = this.#begin('compute.instances.preempted', instance.zone, name);
      this.#end(operation, undefined);
      if (scheduling['instanceTerminationAction'] === 'DELETE') this.remove(instance);
      else instance.status = 'TERMINATED';
    }
  }

  /** Current usage of a quota. Stopped instances count, their CPUs do not: https://cloud.google.com/compute/resource-usage */
  usage(metric: string): number {
    let sum = 0;
    for (const { machineType, isSpot, status, shown } of this.state.instances.values()) {
      const cpus = sizeOf(machineType)?.cpus ?? 0;
      if (metric === 'INSTANCES') sum++;
      else if (status === 'TERMINATED') continue;
      else if (metric === 'CPUS_ALL_REGIONS') sum += cpus;
      else if (metric === 'IN_USE_ADDRESSES') sum += JSON.stringify(shown).includes('natIP') ? 1 : 0;
      else if (metric === cpuQuotaOf(machineType, isSpot, (one) => this.quotas.has(one))) sum += cpus;
    }
    for (const { type, sizeGib } of this.state.disks.values()) {
      if (metric === (type === 'pd-standard' ? 'DISKS_TOTAL_GB' : 'SSD_TOTAL_GB')) sum += sizeGib;
    }
    return sum;
  }

  /**
   * 409 `alreadyExists`, for an instance as well as for its boot disk.
   * https://github.com/hashicorp/terraform/issues/7998, https://github.com/mitchellh/vagrant-google/issues/112
   */
  #alreadyExists(path: string): ApiError {
    return new ApiError(409, 'alreadyExists', `The resource 'projects/${this.project}/${path}' already exists`);
  }

  #checkImages(body: JsonObject): void {
    for (const disk of body['disks'] as { initializeParams?: { sourceImage?: string } }[]) {
      const image = disk.initializeParams?.sourceImage;
      if (image?.includes('missing')) throw notFound(image);
    }
  }

  #makeInstance(zone: string, name: string, machineType: string, body: JsonObject): StoredInstance {
    const number = ++this.#addresses;
    const scheduling = { ...(body['scheduling'] as JsonObject | undefined) };
    const isSpot = scheduling['provisioningModel'] === 'SPOT';
    const bootDisk = bootDiskOf(body).name;
    const internal = `10.128.${Math.floor(number / 250)}.${(number % 250) + 2}`;
    const external = this.#options.addressOf?.(name) ?? `${name}.fake`;
    const interfaces = (body['networkInterfaces'] as JsonObject[]).map((one) => ({
      ...one,
      name: 'nic0',
      networkIP: internal,
      ...(Array.isArray(one['accessConfigs']) && {
        accessConfigs: one['accessConfigs'].map((access) => ({ ...(access as JsonObject), natIP: external })),
      }),
    }));
    const shown: JsonObject = {
      ...body,
      kind: 'compute#instance',
      id: this.state.nextId(),
      creationTimestamp: new Date(this.#clock.now()).toISOString(),
      zone: this.url(`zones/${zone}`),
      machineType: this.url(`zones/${zone}/machineTypes/${machineType}`),
      selfLink: this.url(`zones/${zone}/instances/${name}`),
      networkInterfaces: interfaces,
      scheduling: { automaticRestart: !isSpot, preemptible: isSpot, provisioningModel: 'STANDARD', ...scheduling },
      disks: [
        { boot: true, autoDelete: true, source: this.url(`zones/${zone}/disks/${bootDisk}`), mode: 'READ_WRITE' },
      ],
    };
    return { zone, name, machineType, isSpot, bootDisk, shown, status: 'PROVISIONING', guestAttributes: {} };
  }

  #makeDisk(zone: string, { name, type, sizeGib, labels }: BootDisk, user: string | undefined): void {
    this.state.disks.set(`${zone}/${name}`, { zone, name, sizeGib, type, labels, user });
  }

  #boot(instance: StoredInstance, operation: StoredOperation, failure: FailureKind | undefined): void {
    const bootMs = this.#options.bootMs ?? DEFAULTS.bootMs;
    // Each timer starts the next: two parallel timers may fire in either order when the process is slow.
    this.#later(bootMs / 2, () => {
      if (instance.status === 'PROVISIONING') instance.status = 'STAGING';
      if (failure === 'never-ready') return;
      this.#later(bootMs / 2, () => {
        if (instance.status === 'STAGING') instance.status = failure === 'error-state' ? 'TERMINATED' : 'RUNNING';
        this.#end(operation, undefined);
      });
    });
  }

  #begin(type: string, zone: string, name: string): StoredOperation {
    const operation: StoredOperation = {
      name: `operation-${this.state.nextId()}`,
      zone,
      type,
      target: name,
      insertedMs: this.#clock.now(),
      endedMs: undefined,
      error: undefined,
    };
    this.state.operations.set(`${zone}/${operation.name}`, operation);
    return operation;
  }

  #end(operation: StoredOperation, error: OperationError | undefined): void {
    operation.endedMs = this.#clock.now();
    operation.error = error;
    for (const listener of [...this.#listeners]) listener();
  }

  #later(ms: number, event: () => void): void {
    this.#clock.setTimer(ms, event);
  }
}
