import type { JsonObject } from '@nodepool/zk-protocol';
import { afterEach, expect, it } from 'vitest';
import type { Provider, ProviderContext } from '../../contract/driver.js';
import { silentLogger } from '../../contract/logger.js';
import { readStateMachineProvider } from '../state-machine/read-config.js';
import type { StateMachineProviderConfig } from '../state-machine/types.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { SimpleTaskManagerAdapter, type SimpleTaskManagerInstance } from './simple-adapter.js';
import { SimpleTaskManagerDriver } from './simple-driver.js';
import type { TaskManager } from '../task-manager/task-manager.js';

let clock = new VirtualClock();

afterEach(() => {
  expect(clock.pendingTimers).toBe(0);
  clock = new VirtualClock();
});

/** Its first list never ends. */
class HangingAdapter extends SimpleTaskManagerAdapter {
  readonly lists: AbortSignal[] = [];

  override createInstance(): Promise<string> {
    return Promise.reject(new Error('nothing is created here'));
  }

  override deleteInstance(): Promise<void> {
    return Promise.reject(new Error('nothing is deleted here'));
  }

  override listInstances(_tasks: TaskManager, signal: AbortSignal): Promise<readonly SimpleTaskManagerInstance[]> {
    this.lists.push(signal);
    return this.lists.length === 1 ? new Promise(() => undefined) : Promise.resolve([]);
  }

  /** As clouds do that have no limit for something. */
  override getQuotaLimits(): Promise<Record<string, number>> {
    return Promise.resolve({ instances: 7, cores: -1 });
  }
}

class HangingDriver extends SimpleTaskManagerDriver {
  override readonly name = 'hanging';
  override readonly schema = {};
  override readonly taskTimeoutMs = 30_000;
  adapter: HangingAdapter | undefined;

  override getProviderConfig(entry: JsonObject): StateMachineProviderConfig {
    return readStateMachineProvider(entry, { driverName: this.name });
  }

  override getAdapter(config: StateMachineProviderConfig): SimpleTaskManagerAdapter {
    this.adapter = new HangingAdapter(config);
    return this.adapter;
  }
}

function start(driver: HangingDriver): Provider {
  const context = {
    clock,
    logger: silentLogger,
    random: () => 0,
    capacityChanged: () => undefined,
    ownNodes: () => [],
    nodes: { ready: true, get: () => undefined },
  };
  const config = driver.getProviderConfig({ name: 'cloud', pools: [{ name: 'main', labels: [{ name: 'small' }] }] });
  return driver.getProvider(config, context as unknown as ProviderContext);
}

it('a call that hangs holds up a simple driver for as long as its task may take, and no longer', async () => {
  const driver = new HangingDriver();
  const provider = start(driver);
  await provider.start(new AbortController().signal);

  for (let i = 0; i < 120 && provider.quota?.estimatedNodepoolQuota() === undefined; i++) await clock.advance(1_000);

  expect(provider.quota?.estimatedNodepoolQuota()).toEqual({ instances: 7 });
  expect(driver.adapter?.lists[0]?.aborted).toBe(true);
  provider.stop();
  await clock.run(provider.join());
});

it('a call that hangs does not keep a simple driver from ending', async () => {
  const driver = new HangingDriver();
  const provider = start(driver);
  await provider.start(new AbortController().signal);
  await clock.advance(1_000);

  provider.stop();
  await clock.run(provider.join());

  expect(driver.adapter?.lists.map(({ aborted }) => aborted)).toEqual([true]);
});
