import type { Clock, JsonObject, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import {
  VirtualClock,
  type CloudFailureKind,
  type CloudResource,
  type ContractCloud,
  type MachineEnd,
} from '@nodepool/core/testing';
import { FailuresOnOrder, FakeCloud, type CloudClient } from '@nodepool/driver-fake';
import { placeOf } from '../src/user-data.js';

/** Slots on machines, which are instances of the fake cloud, with failures on order instead of by chance. */
export class SlotCloud implements ContractCloud {
  readonly clock = new VirtualClock();
  /** Only the backing provider meets quota and capacity errors: the launch of a slot waits, or fails with its request. */
  readonly unseen = ['quota', 'capacity'] as const;
  /** Lists are always current. */
  readonly impossible = ['late-listing'] as const;
  readonly #machines: FakeCloud;
  readonly #failures: FailuresOnOrder;
  #seen: ReadonlyMap<NodeId, NodeRecord> = new Map();

  constructor(settings: JsonObject) {
    this.#machines = new FakeCloud({ clock: this.clock, random: () => 0.5, settings });
    this.#failures = new FailuresOnOrder(this.#machines);
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  /** A slot exists while a record claims it, and is ready while its machine is. */
  list(nodes: ReadonlyMap<NodeId, NodeRecord>): CloudResource[] {
    this.#seen = nodes;
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
    this.#failures.failNext(kind);
  }

  /** @param id - of a slot, whose machine ends */
  endMachine(id: string, how: MachineEnd): boolean {
    const node = this.#seen.get(id as NodeId);
    const place = node && placeOf(node);
    const externalId = place && this.#seen.get(place.backingNode)?.externalId;
    const machine = typeof externalId === 'string' ? externalId : '';
    return how === 'stopped' ? this.#machines.breakDown(machine) : this.#machines.kill(machine);
  }

  stop(): void {
    this.#machines.stop();
  }

  /** A client for the backing provider. */
  connect(clock: Clock): CloudClient {
    return this.#failures.connect(clock);
  }
}
