import type { Clock } from '@nodepool/zk-protocol';
import { callCloud, type CallName, type CloudCalls } from './api.js';
import { createCloudClient, type CloudClient, type CloudTransport, type TransportListener } from './client.js';
import type { FakeCloud } from '../model/fake-cloud.js';
import { CloudFailure } from '../model/types.js';

/**
 * A client of a cloud in the same process: no socket, no file, no time but that of the clock. Each launcher of a
 * simulation has its own.
 */
export function connectInProcess(cloud: FakeCloud, clock: Clock): CloudClient {
  return createCloudClient(new InProcessTransport(cloud, (name, args) => callCloud(cloud, clock, name, args)));
}

/** Makes a call of a cloud in the same process; what it throws is the answer. */
export type InProcessCall = <Name extends CallName>(
  name: Name,
  args: CloudCalls[Name][0],
) => CloudCalls[Name][1] | Promise<CloudCalls[Name][1]>;

/** The connection of one driver to a cloud in the same process. */
export class InProcessTransport implements CloudTransport {
  readonly #cloud: FakeCloud;
  readonly #makeCall: InProcessCall;
  #unsubscribe: (() => void) | undefined;
  #closed = false;

  constructor(cloud: FakeCloud, makeCall: InProcessCall) {
    this.#cloud = cloud;
    this.#makeCall = makeCall;
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
    const result = await this.#makeCall(name, args);
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
