import type { Clock } from '@nodepool/zk-protocol';
import { CapacityError, NotFoundError, ProviderUnavailableError, QuotaError } from '../../src/index.js';
import {
  VirtualClock,
  type CloudFailureKind,
  type CloudResource,
  type ContractCloud,
  type MachineEnd,
} from '../../src/testing/index.js';

export interface Machine {
  readonly id: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly az: string | null;
  readonly status: 'making' | 'running' | 'stopping' | 'stopped' | 'broken' | 'deleting';
  /** Time when the machine appears in lists. */
  readonly listedMs: number;
}

/** Connection details of its machines. */
export const LOGIN = { username: 'tester', connectionPort: 2222 } as const;
/** Maximum delay until lists show a new machine. */
export const LIST_LAG_MS = 60_000;
const CREATE_MS = 5_000;
const DELETE_MS = 3_000;
const STOP_MS = 2_000;
const START_MS = 1_000;

/** The cloud of the honest driver and of all broken drivers. */
export class TestCloud implements ContractCloud {
  readonly clock: Clock & VirtualClock = new VirtualClock();
  readonly limits = { instances: 10 };
  readonly pageSize = 5;
  readonly machines = new Map<string, Machine>();
  readonly images = new Map<string, Readonly<Record<string, string>>>();
  /** Names of images without their data. */
  readonly partialImages = new Set<string>();
  /** Resources of a driver other than machines. */
  readonly volumes = new Set<string>();
  readonly #outages: CloudFailureKind[] = [];
  readonly #creations: CloudFailureKind[] = [];
  #next = 1;

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  list(): CloudResource[] {
    return [
      ...[...this.machines.values()].map(({ id, status }) => ({ id, isReady: status === 'running', login: LOGIN })),
      ...[...this.volumes].map((id) => ({ id, type: 'volume', isReady: true })),
      ...[...this.images.keys()].map((id) => ({ id, type: 'image', isReady: true })),
    ];
  }

  failNext(kind: CloudFailureKind): void {
    (kind === 'unavailable' ? this.#outages : this.#creations).push(kind);
  }

  async create(tags: Machine['tags'], az: string | null, name = ''): Promise<string> {
    await this.#call();
    const failure = this.#creations.shift();
    if (failure === 'quota') throw new QuotaError('the quota is used up');
    if (failure === 'capacity') throw new CapacityError('there is no capacity');
    const id = `m-${this.#next++}`;
    const listedMs = this.clock.now() + (failure === 'late-listing' ? LIST_LAG_MS : 0);
    this.machines.set(id, { id, name, tags, az, status: 'making', listedMs });
    if (failure !== 'never-ready') {
      this.clock.setTimer(CREATE_MS, () => this.#become(id, failure === 'error-state' ? 'broken' : 'running'));
    }
    if (failure === 'lost-reply' || failure === 'late-listing')
      throw new ProviderUnavailableError('the answer was lost');
    return id;
  }

  async delete(id: string): Promise<void> {
    await this.#call();
    if (!this.machines.has(id)) throw new NotFoundError(`there is no machine ${id}`);
    if (this.machines.get(id)?.status === 'deleting') return;
    this.#become(id, 'deleting');
    this.clock.setTimer(DELETE_MS, () => this.machines.delete(id));
  }

  async stopMachine(id: string): Promise<void> {
    await this.#change(id, 'running', 'stopping');
    this.clock.setTimer(STOP_MS, () => this.machines.get(id)?.status === 'stopping' && this.#become(id, 'stopped'));
  }

  async startMachine(id: string): Promise<void> {
    await this.#change(id, 'stopped', 'making');
    this.clock.setTimer(START_MS, () => this.machines.get(id)?.status === 'making' && this.#become(id, 'running'));
  }

  endMachine(id: string, how: MachineEnd): boolean {
    if (how === 'stopped') this.#become(id, 'stopped');
    else this.machines.delete(id);
    return true;
  }

  async all(): Promise<Machine[]> {
    const all: Machine[] = [];
    for (let first = 0; ; first += this.pageSize) {
      const page = await this.page(first);
      all.push(...page);
      if (page.length < this.pageSize) return all;
    }
  }

  /** One page of the list. @param first - index of its first entry */
  async page(first: number): Promise<Machine[]> {
    await this.#call();
    const listed = [...this.machines.values()].filter(({ listedMs }) => listedMs <= this.clock.now());
    return listed.slice(first, first + this.pageSize);
  }

  async upload(name: string, tags: Readonly<Record<string, string>>): Promise<string> {
    await this.#call();
    this.images.set(name, tags);
    this.partialImages.add(name);
    return name;
  }

  async complete(name: string): Promise<void> {
    await this.#call();
    if (!this.images.has(name)) throw new NotFoundError(`there is no image ${name}`);
    this.partialImages.delete(name);
  }

  async deleteImage(name: string): Promise<void> {
    await this.#call();
    if (!this.images.delete(name)) throw new NotFoundError(`there is no image ${name}`);
  }

  async #call(): Promise<void> {
    await Promise.resolve();
    if (this.#outages.shift()) throw new ProviderUnavailableError('the cloud does not answer');
  }

  async #change(id: string, from: Machine['status'], to: Machine['status']): Promise<void> {
    await this.#call();
    const machine = this.machines.get(id);
    if (!machine) throw new NotFoundError(`there is no machine ${id}`);
    if (machine.status === from) this.#become(id, to);
  }

  #become(id: string, status: Machine['status']): void {
    const machine = this.machines.get(id);
    if (machine && machine.status !== 'deleting') this.machines.set(id, { ...machine, status });
  }
}
