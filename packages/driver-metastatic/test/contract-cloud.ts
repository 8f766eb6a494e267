import type { Clock, JsonObject, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { VirtualClock, type CloudFailureKind, type CloudResource, type ContractCloud } from '@nodepool/core/testing';
import {
  callCloud,
  CloudFailure,
  connectInProcess,
  FakeCloud,
  type CallName,
  type CloudCalls,
  type CloudClient,
} from '@nodepool/driver-fake';
import { placeOf } from '../src/user-data.js';

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
    return {
      ...connectInProcess(this.#machines, clock),
      call: async (name, args, signal) => {
        await Promise.resolve();
        const result = await this.#call(clock, name, args);
        signal?.throwIfAborted();
        return result;
      },
    };
  }

  #call<Name extends CallName>(
    clock: Clock,
    name: Name,
    args: CloudCalls[Name][0],
  ): CloudCalls[Name][1] | Promise<CloudCalls[Name][1]> {
    if (this.#outages.shift()) throw new CloudFailure('unavailable', 'the API is down');
    const kind = name === 'create' ? this.#creations.shift() : undefined;
    if (kind === 'quota' || kind === 'capacity') throw new CloudFailure(kind, `no ${kind}`);
    if (kind === 'error-state' || kind === 'never-ready') {
      this.#machines.set('failures', { [kind === 'error-state' ? kind : 'never-active']: 1 });
      try {
        return callCloud(this.#machines, clock, name, args);
      } finally {
        this.#machines.set('failures', null);
      }
    }
    const result = callCloud(this.#machines, clock, name, args);
    if (kind === 'lost-reply') throw new CloudFailure('reset', 'the connection was reset before the answer came');
    return result;
  }
}
