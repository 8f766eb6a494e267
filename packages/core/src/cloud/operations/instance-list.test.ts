import { afterEach, describe, expect, it } from 'vitest';
import { ProviderUnavailableError } from '../../contract/errors.js';
import type { Instance } from '../../contract/instance.js';
import { silentLogger } from '../../contract/logger.js';
import { MemoryCloud } from '../../../test/support/memory-cloud.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { InstanceList } from './instance-list.js';

const NEVER = new AbortController().signal;
let clock = new VirtualClock();

function setUp(features: { single?: boolean; push?: boolean } = {}) {
  const cloud = new MemoryCloud(clock);
  const source = cloud.adapter(features);
  return { cloud, list: new InstanceList({ source, clock, logger: silentLogger, random: () => 0 }) };
}

afterEach(() => {
  expect(clock.pendingTimers).toBe(0);
  clock = new VirtualClock();
});

describe('InstanceList', () => {
  it('answers everybody with one list', async () => {
    const { cloud, list } = setUp();
    for (let i = 0; i < 5; i++) cloud.put({ externalId: `i-${i}` });
    const since = list.mark();

    const found = await Promise.all([0, 1, 2, 3].map((i) => list.find(`i-${i}`, since, NEVER)));

    expect(found.map((instance) => instance?.externalId)).toEqual(['i-0', 'i-1', 'i-2', 'i-3']);
    expect(cloud.count('list')).toBe(1);
  });

  it('reads each entry of a list by itself', async () => {
    const cloud = new MemoryCloud(clock);
    cloud.put({ externalId: 'i-1' });
    const listInstances = async () => [null, {}, { externalId: 'half' }, ...(await cloud.list())] as Instance[];
    const list = new InstanceList({
      ...{ source: cloud.adapter({}, { listInstances }), clock, logger: silentLogger, random: () => 0 },
    });

    expect(await list.list(list.mark(), NEVER)).toMatchObject([{ externalId: 'i-1' }]);
  });

  it('never answers with a list begun before the question', async () => {
    const { cloud, list } = setUp();
    cloud.put({ externalId: 'i-1' });
    const early = list.find('i-1', list.mark(), NEVER);
    await Promise.resolve();
    const late = list.find('i-1', list.mark(), NEVER);
    await early;
    cloud.put({ externalId: 'i-1', ready: true });

    expect(await clock.run(late)).toMatchObject({ ready: true });
    expect(cloud.count('list')).toBe(2);
  });

  it('believes a list that lacks an instance only after another one', async () => {
    const { cloud, list } = setUp();
    const since = list.mark();
    const late = list.find('i-1', since, NEVER);
    const gone = list.find('i-2', since, NEVER);
    await clock.settle();
    cloud.put({ externalId: 'i-1' });

    expect(await clock.run(late)).toMatchObject({ externalId: 'i-1' });
    expect(await clock.run(gone)).toBeUndefined();
    expect(cloud.count('list')).toBe(2);
  });

  it('reads an instance alone that a list lacks, where it can', async () => {
    const { cloud, list } = setUp({ single: true });
    const since = list.mark();
    const all = list.list(since, NEVER);
    const late = list.find('i-1', since, NEVER);
    await all;
    cloud.put({ externalId: 'i-1' });

    expect(await clock.run(late)).toMatchObject({ externalId: 'i-1' });
    expect(cloud.calls).toEqual(['list', 'get']);
  });

  it('reads single instances while few are requested', async () => {
    const { cloud, list } = setUp({ single: true });
    cloud.put({ externalId: 'i-1' });

    await list.find('i-1', list.mark(), NEVER);

    expect(cloud.calls).toEqual(['get']);
  });

  it('looks the less often the longer the youngest wait lasts', async () => {
    const { cloud, list } = setUp();
    const sinceMs = clock.now();
    const looks: number[] = [];
    const abort = new AbortController();
    const watch = async () => {
      for (;;) {
        await list.news('i-1', sinceMs, abort.signal);
        looks.push(clock.now() - sinceMs);
      }
    };

    const watching = watch();
    await clock.advance(60_000);
    abort.abort(new Error('enough'));
    await expect(watching).rejects.toThrow('enough');

    expect(looks.slice(0, 4)).toEqual([0, 500, 1_000, 1_500]);
    expect(cloud.count('list')).toBeLessThan(25);
  });

  it('wakes waiting callers when the cloud reports a change, without a call', async () => {
    const { cloud, list } = setUp({ push: true, single: true });
    cloud.put({ externalId: 'i-1' });
    const startedMs = clock.now();
    const news = list.news('i-1', clock.now(), NEVER);

    cloud.remove('i-1');
    await news;

    expect(await list.find('i-1', list.mark(), NEVER)).toBeUndefined();
    expect(clock.now()).toBe(startedMs);
    expect(cloud.calls).toEqual([]);
  });

  it('still polls a cloud that reports changes', async () => {
    const { cloud, list } = setUp({ push: true });
    const news = list.news('i-1', clock.now(), NEVER);

    await clock.run(news);

    expect(cloud.count('list')).toBe(1);
  });

  it('looks again when the cloud reports a change without saying which', async () => {
    const cloud = new MemoryCloud(clock);
    let report: (change: { externalId: string }) => void = () => undefined;
    const source = cloud.adapter(
      { single: true },
      {
        onInstanceChange: (listener) => {
          report = listener;
          return () => undefined;
        },
      },
    );
    const list = new InstanceList({ source, clock, logger: silentLogger, random: () => 0 });
    const since = list.mark();
    await list.find('i-1', since, NEVER);
    cloud.put({ externalId: 'i-1' });

    report({ externalId: 'i-1' });

    expect(await list.find('i-1', since, NEVER)).toMatchObject({ externalId: 'i-1' });
  });

  it('refuses questions when the list fails, and lets callers continue to wait', async () => {
    const { cloud, list } = setUp();
    cloud.failNext('list', new ProviderUnavailableError('down'));
    const news = list.news('i-1', clock.now(), NEVER);

    await expect(list.find('i-1', list.mark(), NEVER)).rejects.toThrow('down');
    await clock.run(news);

    expect(cloud.count('list')).toBe(2);
  });

  it('reports the result of each read', async () => {
    const cloud = new MemoryCloud(clock);
    const ends: (string | undefined)[] = [];
    const onRead = (_ageMs: number, error: Error | undefined) => void ends.push(error?.message);
    const source = cloud.adapter({});
    const list = new InstanceList({ source, clock, logger: silentLogger, random: () => 0, onRead });
    cloud.failNext('list', new ProviderUnavailableError('down'));

    await expect(list.list(list.mark(), NEVER)).rejects.toThrow('down');
    await clock.run(list.list(list.mark(), NEVER));

    expect(ends).toEqual(['down', undefined]);
  });

  it('gives up on a list that hangs', async () => {
    const { cloud, list } = setUp();
    cloud.behaviour.hangs = new Set(['list']);

    await expect(clock.run(list.find('i-1', list.mark(), NEVER))).rejects.toThrow('no list of instances within');
  });

  it('refuses everybody once it is stopped', async () => {
    const { cloud, list } = setUp();
    cloud.behaviour.hangs = new Set(['list']);
    const asked = list.find('i-1', list.mark(), NEVER);
    asked.catch(() => undefined);

    list.stop();

    await expect(asked).rejects.toThrow('stopped');
    await expect(list.find('i-1', list.mark(), NEVER)).rejects.toThrow('stopped');
    await clock.settle();
  });
});
