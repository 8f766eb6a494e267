import type { Clock } from '@nodepool/zk-protocol';
import { callCloud } from './calls.js';
import type { CloudClient } from './client.js';
import type { FakeCloud } from '../model/fake-cloud.js';
import { CloudFailure } from '../model/types.js';

/**
 * A client of a cloud in the same process, without sockets or files, on the given clock. Each launcher of a simulation
 * needs its own.
 */
export function connectInProcess(cloud: FakeCloud, clock: Clock): CloudClient {
  let isClosed = false;
  return {
    start: () => Promise.resolve(),
    async call(name, args, signal) {
      signal?.throwIfAborted();
      if (isClosed) throw new CloudFailure('unavailable', 'the client is closed');
      // Never answer synchronously: a real cloud does not either.
      await Promise.resolve();
      const result = await callCloud(cloud, clock, name, args);
      signal?.throwIfAborted();
      return result;
    },
    onChange: (listener) => cloud.onChange(listener),
    close: () => void (isClosed = true),
  };
}
