import type { Clock } from '@nodepool/zk-protocol';
import { callCloud, type CallName, type CloudCalls } from './api.js';
import { createCloudClient, type CloudClient, type CloudTransport, type TransportListener } from './client.js';
import type { FakeCloud } from './cloud/cloud.js';
import { CloudFailure } from './cloud/types.js';

/**
 * A client of a cloud in the same process: no socket, no file, no time but that of the clock. Each launcher of a
 * simulation has its own.
 */
export function connectInProcess(cloud: FakeCloud, clock: Clock): CloudClient {
  return createCloudClient(new InProcessTransport(cloud, clock));
}

class InProcessTransport implements CloudTransport {
  readonly #cloud: FakeCloud;
  readonly #clock: Clock;
  #unsubscribe: (() => void) | undefined;
  #closed = false;

  constructor(cloud: FakeCloud, clock: Clock) {
    this.#cloud = cloud;
    this.#clock = clock;
  }

  async call<Name extends CallName>(
    name: Name,
    args: CloudCalls[Name][0],
    signal?: AbortSignal,
  ): Promise<CloudCalls[Name][1]> {
    signal?.throwIfAborted();
    if (this.#closed) throw new CloudFailure('unavailable', 'the client is closed');
    // Never in the caller's own turn: an answer of a real cloud is not either.
    await Promise.resolve();
    const result = await callCloud(this.#cloud, this.#clock, name, args);
    signal?.throwIfAborted();
    return result;
  }

  subscribe(listener: TransportListener): void {
    listener.reset();
    for (const instance of this.#cloud.list()) listener.event({ id: instance.id, instance });
    listener.complete();
    this.#unsubscribe = this.#cloud.onChange((event) => listener.event(event));
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe?.();
  }
}
