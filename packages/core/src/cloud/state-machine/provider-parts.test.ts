import { expect, it } from 'vitest';
import { MemoryCloud } from '../../../test/support/memory-cloud.js';
import type { ProviderContext } from '../../contract/driver.js';
import { silentLogger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { TaskManager } from '../task-manager/task-manager.js';
import { makeAdapter } from './provider-parts.js';
import type { AdapterContext } from './types.js';

it('tells an adapter the id of the database that is served now', () => {
  const clock = new VirtualClock();
  const database = { id: 'first' };
  const services = { clock, logger: silentLogger, random: () => 0.5 };
  const context = Object.defineProperty(services, 'databaseId', { get: () => database.id, enumerable: true });
  const given: AdapterContext[] = [];
  makeAdapter(context as unknown as ProviderContext, new TaskManager('p', services), (of) => {
    given.push(of);
    return new MemoryCloud(clock).adapter({});
  });

  database.id = 'second';

  expect(given[0]?.databaseId).toBe('second');
});
