import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import { useWorlds, watchInserts } from '../test/world.js';
import { Remembered } from './catalog.js';

const start = useWorlds();
const image = { name: 'debian', username: 'zuul', 'image-project': 'debian-cloud', 'image-family': 'plan-9' };

describe('the image of a family', () => {
  it('is cached', async () => {
    const world = await start();
    const inserts = watchInserts(world);
    await world.launch();
    await world.launch();

    const images = inserts.map(({ body }) => /debian-12-v\d/.exec(JSON.stringify(body))?.[0]);

    expect(images).toEqual(['debian-12-v1', 'debian-12-v1']);
    expect(world.fake.countOf('Images.GetFromFamily')).toBe(1);
  });

  it('is reported while it does not exist', async () => {
    const world = await start({ entry: { 'cloud-images': [image] } });
    const isReady = () => world.provider.labelReady('main', 'small');

    await expect.poll(isReady).toBe(false);
    expect(world.provider.conditions?.()).toMatchObject([
      { kind: 'label', name: 'google/main/small', reason: 'ImageMissing', severity: 'error' },
    ]);
    expect(world.provider.conditions?.()[0]?.message).toContain(
      'no image in family "plan-9" of project "debian-cloud"',
    );
    world.fake.setFamily('debian-cloud', 'plan-9', 'plan-9-v1');

    await expect.poll(isReady).toBe(true);
    expect(world.provider.conditions?.()).toEqual([]);
  });
});

it.each([0, -600_000, 600_000])('shares an answer until it is too old, the clock is set by %i ms', async (byMs) => {
  const clock = new VirtualClock();
  const remembered = new Remembered<string>(clock, () => 300_000);
  let version = 0;
  const ask = () => Promise.resolve(`debian-12-v${++version}`);

  const first = await Promise.all([remembered.get('debian', ask), remembered.get('debian', ask)]);
  clock.set(clock.now() + byMs);
  await clock.advance(299_000);
  const still = await remembered.get('debian', ask);
  await clock.advance(1_000);
  const newer = await remembered.get('debian', ask);

  expect([...first, still, newer]).toEqual(['debian-12-v1', 'debian-12-v1', 'debian-12-v1', 'debian-12-v2']);
});

it('remembers neither refusals nor forgotten keys', async () => {
  const remembered = new Remembered<number>(new VirtualClock(), () => 300_000);

  await expect(remembered.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  const answered = await remembered.get('a', () => Promise.resolve(1));
  remembered.clear();

  expect([answered, await remembered.get('a', () => Promise.resolve(2))]).toEqual([1, 2]);
});
