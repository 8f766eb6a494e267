import type { Clock, JsonObject } from '@nodepool/zk-protocol';
import { VirtualClock, type CloudFailureKind, type CloudResource, type ContractCloud } from '@nodepool/core/testing';
import {
  callCloud,
  CloudFailure,
  connectInProcess,
  FakeCloud,
  type CallName,
  type CloudCalls,
  type CloudClient,
} from '../src/index.js';
import { seededRandom } from './virtual-clock.js';

/** The fake cloud with failures on order instead of by chance. */
export class ContractFakeCloud implements ContractCloud {
  readonly clock = new VirtualClock();
  /** Lists show the present. */
  readonly impossible = ['late-listing'] as const;
  readonly limits = { instances: 20 };
  readonly cloud: FakeCloud;
  readonly #unavailable: CloudFailureKind[] = [];
  readonly #creations: CloudFailureKind[] = [];

  constructor(settings: JsonObject) {
    this.cloud = new FakeCloud({ clock: this.clock, random: seededRandom(1), settings });
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  list(): CloudResource[] {
    const images = this.cloud.images().map(({ id }) => ({ id, type: 'image', isReady: true }));
    const instances = Array.from(this.cloud.list(), ({ id, status, port, hostKeys }) => ({
      id,
      isReady: status === 'active',
      login: { username: 'zuul', connectionPort: port ?? 22, hostKeys: hostKeys ?? [] },
    }));
    return [...instances, ...images];
  }

  failNext(kind: CloudFailureKind): void {
    (kind === 'unavailable' ? this.#unavailable : this.#creations).push(kind);
  }

  stop(): void {
    this.cloud.stop();
  }

  /** A connection of a driver to this cloud. */
  connect(clock: Clock): CloudClient {
    return {
      ...connectInProcess(this.cloud, clock),
      call: async (name, args, signal) => {
        await Promise.resolve();
        const result = await this.call(clock, name, args);
        signal?.throwIfAborted();
        return result;
      },
    };
  }

  /** Makes a call as the failures on order want it. */
  call<Name extends CallName>(
    clock: Clock,
    name: Name,
    args: CloudCalls[Name][0],
  ): CloudCalls[Name][1] | Promise<CloudCalls[Name][1]> {
    if (this.#unavailable.shift()) throw new CloudFailure('unavailable', 'the API is down');
    const kind = name === 'create' ? this.#creations.shift() : undefined;
    if (kind === 'quota' || kind === 'capacity') throw new CloudFailure(kind, `no ${kind}`);
    if (kind === 'error-state' || kind === 'never-ready') {
      const knob = kind === 'error-state' ? kind : 'never-active';
      this.cloud.set(`failures.${knob}`, 1);
      try {
        return callCloud(this.cloud, clock, name, args);
      } finally {
        this.cloud.set(`failures.${knob}`, 0);
      }
    }
    const result = callCloud(this.cloud, clock, name, args);
    if (kind === 'lost-reply') throw new CloudFailure('reset', 'the connection was reset before the answer came');
    return result;
  }
}
