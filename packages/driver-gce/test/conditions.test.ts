import { afterEach, expect, it } from 'vitest';
import { TOKEN } from '@nodepool/fake-compute';
import { ProviderWorld } from './provider-world.js';

const NEVER = new AbortController().signal;
const worlds: ProviderWorld[] = [];

afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end();
});

async function start(image = 'debian-12'): Promise<ProviderWorld> {
  const images = [{ name: 'debian', username: 'zuul', 'image-project': 'debian-cloud', 'image-family': image }];
  const world = await ProviderWorld.start({ entry: { 'cloud-images': images } });
  worlds.push(world);
  return world;
}

it('says that the family of an image has none, until it has', async () => {
  const world = await start('plan-9');
  const isReady = () => world.provider.labelReady('main', 'small');

  await expect.poll(isReady).toBe(false);
  expect(world.provider.conditions?.()).toMatchObject([
    { kind: 'label', name: 'google/main/small', reason: 'ImageMissing', severity: 'error' },
  ]);
  expect(world.provider.conditions?.()[0]?.message).toContain('no image in family "plan-9" of project "debian-cloud"');
  world.fake.setFamily('debian-cloud', 'plan-9', 'plan-9-v1');

  await expect.poll(isReady).toBe(true);
  expect(world.provider.conditions?.()).toEqual([]);
});

it('says that no zone has the machine type of a label, until one has', async () => {
  const { fake, provider } = await start();
  fake.cloud.futureTypes.add('e2-standard-2');
  const world = await ProviderWorld.start({ fake });
  worlds.push(world);
  const reasons = () => world.provider.conditions?.().map(({ reason }) => reason);

  await expect.poll(reasons).toEqual(['MachineTypeMissing']);
  fake.cloud.futureTypes.clear();

  await expect.poll(reasons).toEqual([]);
  expect(provider.conditions?.()).toEqual([]);
});

it('says that Google refuses the login, until it accepts one', async () => {
  const world = await start();
  world.fake.tokens.clear();
  await expect(world.provider.listResources?.(NEVER)).rejects.toThrow('401');
  const refused = world.provider.conditions?.();
  world.fake.tokens.add(TOKEN);
  await world.provider.listResources?.(NEVER);

  expect(refused).toMatchObject([
    { kind: 'provider', name: 'google', type: 'LoginRefused', reason: 'Unauthorized', severity: 'error' },
  ]);
  expect(refused?.[0]?.message).toContain('401');
  expect(world.provider.conditions?.()).toEqual([]);
});
