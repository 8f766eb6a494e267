import { NotFoundError } from '../../src/contract/errors.js';
import { NODE_ID_TAG, type Instance, type InstanceChange, type Resource } from '../../src/contract/instance.js';
import { createStateMachine, done, goto, wait } from '../../src/cloud/operations/state-machine.js';
import type { Handlers, MachineRun, Step } from '../../src/contract/state-machine.js';
import type { Adapter, CreateOrder, ResumedCreation } from '../../src/cloud/state-machine/types.js';
import type { VirtualClock } from '../../src/testing/index.js';

/** Calls of a memory cloud. */
export type CloudCall = 'create' | 'delete' | 'list' | 'get' | 'limits' | 'need' | 'zones' | 'resources';

interface Failure {
  readonly error: Error;
  /** Whether the call takes effect despite the failure. */
  readonly afterwards: boolean;
}

/** Behavior of a {@link MemoryCloud}. Tests can change all fields at any time. */
export interface CloudBehaviour {
  /** Time until a new instance is ready; `undefined`: ready in the answer. */
  createMs?: number | undefined;
  /** Time until a deleted instance is gone; `undefined`: gone in the answer. */
  deleteMs?: number | undefined;
  /** New instances never become ready. */
  neverReady?: boolean;
  hangs?: ReadonlySet<CloudCall>;
  host?: string;
}

/** A cloud in memory, on a virtual clock. */
export class MemoryCloud {
  readonly behaviour: CloudBehaviour;
  readonly instances = new Map<string, Instance>();
  /** Every call, in order. */
  readonly calls: CloudCall[] = [];
  /** What creations were told that another launcher began. */
  readonly resumptions: ResumedCreation[] = [];
  readonly #clock: VirtualClock;
  readonly #failures = new Map<CloudCall, Failure[]>();
  readonly #listeners = new Set<(change: InstanceChange) => void>();
  #next = 1;

  constructor(clock: VirtualClock, behaviour: CloudBehaviour = {}) {
    this.#clock = clock;
    this.behaviour = behaviour;
  }

  /** Number of calls of this kind so far. */
  count(call: CloudCall): number {
    return this.calls.filter((made) => made === call).length;
  }

  /** Makes the next call of this kind fail. */
  failNext(call: CloudCall, error: Error, afterwards = false): void {
    const failures = this.#failures.get(call) ?? [];
    this.#failures.set(call, [...failures, { error, afterwards }]);
  }

  put(instance: Partial<Instance> & Pick<Instance, 'externalId'>): void {
    const { externalId } = instance;
    const before = this.instances.get(externalId) ?? blank(externalId);
    const next = { ...before, ...instance };
    this.instances.set(externalId, next);
    this.#notify({ externalId, instance: next });
  }

  remove(externalId: string): void {
    if (this.instances.delete(externalId)) this.#notify({ externalId, instance: null });
  }

  async create(order: CreateOrder): Promise<Instance> {
    await Promise.resolve();
    const failure = this.#begin('create');
    if (failure && !failure.afterwards) throw failure.error;
    const externalId = `i-${this.#next++}`;
    const { createMs, neverReady, host = `fake-${externalId}` } = this.behaviour;
    const ready = createMs === undefined && neverReady !== true;
    this.put({ externalId, metadata: order.metadata, az: order.az, ready, interfaceIp: ready ? host : null });
    if (createMs !== undefined && neverReady !== true) {
      this.#clock.setTimer(createMs, () => {
        if (this.instances.has(externalId)) this.put({ externalId, ready: true, interfaceIp: host });
      });
    }
    if (failure) throw failure.error;
    if (this.behaviour.hangs?.has('create')) await new Promise(() => undefined);
    return this.instances.get(externalId) ?? blank(externalId);
  }

  async delete(externalId: string): Promise<void> {
    await this.#call('delete', () => {
      if (!this.instances.has(externalId)) throw new NotFoundError(`instance ${externalId} does not exist`);
      const { deleteMs } = this.behaviour;
      if (deleteMs === undefined) this.remove(externalId);
      else this.#clock.setTimer(deleteMs, () => this.remove(externalId));
    });
  }

  list(): Promise<Instance[]> {
    return this.#call('list', () => [...this.instances.values()]);
  }

  get(externalId: string): Promise<Instance | undefined> {
    return this.#call('get', () => this.instances.get(externalId));
  }

  async #call<T>(call: CloudCall, effect: () => T): Promise<T> {
    await Promise.resolve();
    const failure = this.#begin(call);
    if (failure && !failure.afterwards) throw failure.error;
    const result = effect();
    if (failure) throw failure.error;
    if (this.behaviour.hangs?.has(call)) await new Promise(() => undefined);
    return result;
  }

  #begin(call: CloudCall): Failure | undefined {
    this.calls.push(call);
    return this.#failures.get(call)?.shift();
  }

  #notify(change: InstanceChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Creates an adapter for this cloud. @param features - supported calls in addition to lists */
  adapter(features: { single?: boolean; push?: boolean } = {}, changes: Partial<Adapter> = {}): Adapter {
    return {
      getCreateStateMachine: (order) => {
        if (order.resumed) this.resumptions.push(order.resumed);
        return createStateMachine<CreateState, Instance, CreateContext>({
          name: 'create',
          initial: { name: 'start' },
          resumed: order.resumed?.state,
          handlers: createHandlers,
          context: { cloud: this, order },
        });
      },
      getDeleteStateMachine: ({ externalId }) =>
        createStateMachine<DeleteState, void, MemoryCloud>({
          name: 'delete',
          initial: { name: 'start', externalId },
          handlers: deleteHandlers,
          context: this,
        }),
      listInstances: () => this.list(),
      ...(features.single && { getInstance: (externalId: string) => this.get(externalId) }),
      ...(features.push && {
        onInstanceChange: (listener: (change: InstanceChange) => void) => {
          this.#listeners.add(listener);
          return () => this.#listeners.delete(listener);
        },
      }),
      listResources: async () => {
        const instances = await this.list();
        return instances.map(({ externalId, metadata }): Resource => ({ type: 'instance', id: externalId, metadata }));
      },
      deleteResource: async ({ id }) => this.delete(id),
      ...changes,
    };
  }
}

function blank(externalId: string): Instance {
  return { externalId, ready: false, deleted: false, interfaceIp: null, metadata: {} };
}

type CreateState = { readonly name: 'start' } | { readonly name: 'waiting'; readonly externalId: string };
type DeleteState = { readonly name: 'start' | 'waiting'; readonly externalId: string };

interface CreateContext {
  readonly cloud: MemoryCloud;
  readonly order: CreateOrder;
}

const createHandlers = {
  start: async (_state, { cloud, order }) => {
    const isOwn = ({ metadata }: Instance) => metadata[NODE_ID_TAG] === order.metadata[NODE_ID_TAG];
    const found = order.resumed && (await cloud.list()).find(isOwn);
    const instance = found ?? (await cloud.create(order));
    return instance.ready ? done(instance) : goto({ name: 'waiting', externalId: instance.externalId });
  },
  waiting: async ({ externalId }, _context, run) => {
    const instance = await run.instances.find(externalId);
    return instance?.ready ? done(instance) : wait();
  },
} satisfies Handlers<CreateState, Instance, CreateContext>;

const deleteHandlers = {
  start: async ({ externalId }: DeleteState, cloud: MemoryCloud): Promise<Step<DeleteState, void>> => {
    await cloud.delete(externalId);
    return goto({ name: 'waiting', externalId });
  },
  waiting: async ({ externalId }: DeleteState, _cloud: MemoryCloud, run: MachineRun) =>
    (await run.instances.find(externalId)) ? wait() : done(),
} satisfies Handlers<DeleteState, void, MemoryCloud>;
