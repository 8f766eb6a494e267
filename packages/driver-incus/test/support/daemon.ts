import { silentLogger, TaskManager, type Clock, type MachineRun } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { IncusClient } from '../../src/client.js';
import { toInstance, type IncusInstance } from '../../src/instance.js';
import { Operations } from '../../src/operations.js';
import { FakeIncus, type FakeOptions } from '../fake/fake-incus.js';
import { InProcessTransport } from '../fake/in-process.js';

/** Tags of a node of this provider. */
export const TAGS = {
  nodepool_provider_name: 'lab',
  nodepool_pool_name: 'main',
  nodepool_node_id: '0000000001',
  nodepool_database_id: 'db',
};

/** A signal that is never aborted. */
export const SIGNAL = new AbortController().signal;

/** A fake daemon on a virtual clock, with what the driver has to talk to it. */
export function fakeDaemon(options: FakeOptions = {}) {
  const clock = new VirtualClock();
  return { clock, ...connectTo(new FakeIncus(clock, options), clock) };
}

/** What the driver has to talk to a fake daemon. */
export function connectTo(daemon: FakeIncus, clock: Clock) {
  const tasks = new TaskManager('lab', { clock });
  const client = new IncusClient({ transport: new InProcessTransport(() => daemon), project: 'default', tasks, clock });
  const operations = new Operations({ client, clock, logger: silentLogger, random: () => 0 });
  const look = async (name: string): Promise<IncusInstance | undefined> => {
    const shown = await client.instance(name, SIGNAL);
    return shown && toInstance(shown, 'LXD');
  };
  const run = (visits = 0): MachineRun<IncusInstance> => ({
    ...{ signal: SIGNAL, logger: silentLogger, nowMs: clock.now(), startedMs: 0, enteredMs: 0, visits },
    note: () => Promise.resolve(),
    instances: { find: look, list: async () => (await client.instances(SIGNAL)).map((one) => toInstance(one, 'LXD')) },
  });
  return { daemon, client, operations, look, run };
}

/** What {@link fakeDaemon} makes. */
export type FakeDaemon = ReturnType<typeof fakeDaemon>;

/** Makes an instance with these keys, and runs it if asked to. */
export async function makeInstance(
  { client, clock }: FakeDaemon,
  name: string,
  config: Record<string, string> = {},
  isRunning = false,
): Promise<void> {
  const source = { type: 'image', alias: 'debian' };
  await client.createInstance({ name, type: 'container', config, source }, undefined, SIGNAL);
  await clock.advance(1_000);
  if (!isRunning) return;
  await client.startInstance(name, SIGNAL);
  await clock.advance(5_000);
}
