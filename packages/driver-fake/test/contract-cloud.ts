import type { Clock, JsonObject } from '@nodepool/zk-protocol';
import { Random, VirtualClock } from '@nodepool/core/testing';
import type { CloudFailureKind, CloudResource, ContractCloud, MachineEnd } from '@nodepool/core/testing';
import { FailuresOnOrder, FakeCloud, type CloudClient } from '../src/index.js';

/** The fake cloud with failures on order instead of by chance. */
export class ContractFakeCloud implements ContractCloud {
  readonly clock = new VirtualClock();
  /** Lists are always current. */
  readonly impossible = ['late-listing'] as const;
  readonly limits = { instances: 20 };
  readonly #cloud: FakeCloud;
  readonly #failures: FailuresOnOrder;

  constructor(settings: JsonObject) {
    this.#cloud = new FakeCloud({ clock: this.clock, random: new Random(1).next, settings });
    this.#failures = new FailuresOnOrder(this.#cloud);
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  list(): CloudResource[] {
    const images = this.#cloud.images().map(({ id }) => ({ id, type: 'image', isReady: true }));
    const instances = Array.from(this.#cloud.list(), ({ id, status, port, hostKeys }) => ({
      id,
      isReady: status === 'active',
      login: { username: 'zuul', connectionPort: port ?? 22, hostKeys: hostKeys ?? [] },
    }));
    return [...instances, ...images];
  }

  failNext(kind: CloudFailureKind): void {
    this.#failures.failNext(kind);
  }

  endMachine(id: string, how: MachineEnd): boolean {
    return how === 'stopped' ? this.#cloud.breakDown(id) : this.#cloud.kill(id);
  }

  stop(): void {
    this.#cloud.stop();
  }

  /** A client for the driver. */
  connect(clock: Clock): CloudClient {
    return this.#failures.connect(clock);
  }
}
