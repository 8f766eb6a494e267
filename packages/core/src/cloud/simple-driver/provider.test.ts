import { expect, it } from 'vitest';
import type { NodeRequestHandler, ProviderContext } from '../../contract/driver.js';
import { silentLogger } from '../../contract/logger.js';
import { providerConfig } from '../../../test/support/launch-world.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { BaseTaskManagerProvider } from './provider.js';
import { Task } from '../task-manager/task.js';

class Ping extends Task<object, number> {
  override main(): Promise<number> {
    return Promise.resolve(1);
  }
}

class PingProvider extends BaseTaskManagerProvider {
  getRequestHandler(): NodeRequestHandler {
    return { imagesAvailable: () => true };
  }

  startNodeCleanup(): undefined {
    return undefined;
  }

  async cleanupLeakedResources(): Promise<void> {
    await this.taskManager.submitTask(new Ping({})).wait();
  }
}

it('starts, stops and joins its task manager', async () => {
  const clock = new VirtualClock();
  const context = { clock, logger: silentLogger, random: () => 0 } as unknown as ProviderContext;
  const provider = new PingProvider({ ...providerConfig(), rateLimit: 2 }, context);
  await provider.start(new AbortController().signal);

  await provider.cleanupLeakedResources();
  const last = provider.taskManager.submitTask(new Ping({}));
  provider.idle();
  provider.stop();
  await provider.join();

  expect(await last.wait()).toBe(1);
  await expect(provider.cleanupLeakedResources()).rejects.toThrow('stopped');
  expect([provider.labelReady('main', 'small'), provider.errorLabels().size]).toEqual([true, 0]);
});
