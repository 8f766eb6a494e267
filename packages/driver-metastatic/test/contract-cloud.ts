import type { Clock, JsonObject, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { CapacityError, ProviderUnavailableError, QuotaError } from '@nodepool/core';
import { VirtualClock, type CloudFailureKind, type CloudResource, type ContractCloud } from '@nodepool/core/testing';
import { connectInProcess, FakeCloud, type CloudClient, type CloudInstance } from '@nodepool/driver-fake';
import { placeOf } from '../src/user-data.js';

type Create = CloudClient['create'];

/** Members of a client that are no calls to the cloud. */
const LOCAL = new Set<string | symbol>(['start', 'close', 'onChange']);

/** Slots on machines: the machines are instances of the fake cloud, with failures on order instead of by chance. */
export class SlotCloud implements ContractCloud {
  readonly clock = new VirtualClock();
  /** Quota and room are the backing provider's affair: a launch of a slot waits, or fails as its request does. */
  readonly unseen = ['quota', 'capacity'] as const;
  /** The list of machines shows the present. */
  readonly impossible = ['late-listing'] as const;
  readonly #machines: FakeCloud;
  readonly #outages: CloudFailureKind[] = [];
  readonly #creations: CloudFailureKind[] = [];

  constructor(settings: JsonObject) {
    this.#machines = new FakeCloud({ clock: this.clock, random: () => 0.5, settings });
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  /** A slot is there while a record says that it is taken, and of use while its machine is. */
  list(nodes: ReadonlyMap<NodeId, NodeRecord>): CloudResource[] {
    const machines = [...this.#machines.list()].map(({ id, status }) => ({ id, isReady: status === 'active' }));
    const ready = new Set<unknown>(machines.filter(({ isReady }) => isReady).map(({ id }) => id));
    const slots = [...nodes.values()].flatMap((node) => {
      const place = placeOf(node);
      if (!place) return [];
      return [
        { id: node.id, isReady: ready.has(nodes.get(place.backingNode)?.externalId), lifetime: 'record' as const },
      ];
    });
    return [...slots, ...machines.map((machine) => ({ ...machine, type: 'machine', lifetime: 'shared' as const }))];
  }

  failNext(kind: CloudFailureKind): void {
    (kind === 'unavailable' ? this.#outages : this.#creations).push(kind);
  }

  stop(): void {
    this.#machines.stop();
  }

  /** A connection of the backing provider to the machines. */
  connect(clock: Clock): CloudClient {
    const client = connectInProcess(this.#machines, clock);
    const create: Create = (order, signal) => this.#create(client, order, signal);
    return new Proxy(client, {
      get: (target, key) => {
        const value = (key === 'create' ? create : Reflect.get(target, key)) as unknown;
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (!LOCAL.has(key) && this.#outages.shift()) {
            return Promise.reject(new ProviderUnavailableError('the API is down'));
          }
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  }

  async #create(client: CloudClient, order: Parameters<Create>[0], signal: AbortSignal | undefined) {
    const kind = this.#creations.shift();
    if (kind === 'quota') throw new QuotaError('the quota is used up');
    if (kind === 'capacity') throw new CapacityError('there is no room');
    if (kind === 'error-state') return this.#createWith('error-state', order);
    if (kind === 'never-ready') return this.#createWith('never-active', order);
    const machine = await client.create(order, signal);
    if (kind === 'lost-reply') throw new ProviderUnavailableError('the connection was reset before the answer came');
    return machine;
  }

  #createWith(failure: 'error-state' | 'never-active', order: Parameters<Create>[0]): CloudInstance {
    this.#machines.set(`failures.${failure}`, 1);
    try {
      return this.#machines.create(order);
    } finally {
      this.#machines.set(`failures.${failure}`, 0);
    }
  }
}
