import type { Clock } from '@nodepool/zk-protocol';
import type { CloudFailureKind } from '@nodepool/core/testing';
import type { FakeCloud } from '../model/fake-cloud.js';
import { CloudFailure } from '../model/types.js';
import { callCloud, type CallName, type CloudCalls } from './calls.js';
import type { CloudClient } from './client.js';
import { connectInProcess } from './in-process.js';

/** Fails the next calls of a cloud in this process as ordered, not by chance. For contract tests of drivers. */
export class FailuresOnOrder {
  readonly #cloud: FakeCloud;
  readonly #outages: CloudFailureKind[] = [];
  readonly #creations: CloudFailureKind[] = [];

  constructor(cloud: FakeCloud) {
    this.#cloud = cloud;
  }

  /** Orders one failure; several queue up. */
  failNext(kind: CloudFailureKind): void {
    (kind === 'unavailable' ? this.#outages : this.#creations).push(kind);
  }

  /** A client of the cloud whose calls fail as ordered. */
  connect(clock: Clock): CloudClient {
    return {
      ...connectInProcess(this.#cloud, clock),
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
    const failure = kind === 'never-ready' ? 'never-active' : kind === 'error-state' ? kind : undefined;
    if (failure !== undefined) this.#cloud.set(`failures.${failure}`, 1);
    try {
      const result = callCloud(this.#cloud, clock, name, args);
      if (kind !== 'lost-reply') return result;
    } finally {
      if (failure !== undefined) this.#cloud.set(`failures.${failure}`, null);
    }
    throw new CloudFailure('reset', 'the connection was reset before the answer came');
  }
}
