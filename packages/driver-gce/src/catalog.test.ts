import { describe, expect, it } from 'vitest';
import { useWorlds, watchInserts } from '../test/world.js';

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
