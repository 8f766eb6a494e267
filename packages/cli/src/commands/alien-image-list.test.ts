import { beforeAll, expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();

/** Clouds with images of builds, by provider; `storm` cannot be asked. */
const DRIVER = `const HAIL = { name: 'of hail', externalId: 'x5', metadata: { nodepool_build_id: 'b', nodepool_provider_name: 'hail' } };
const images = {
  sky: [
    { name: 'ready', externalId: 'x1', metadata: { nodepool_build_id: 'b' } },
    { name: 'orphan', externalId: 'x2', metadata: { nodepool_build_id: 'b' } },
    { name: 'by hand', externalId: 'x3', metadata: {} },
    { name: 'of rain', externalId: 'x4', metadata: { nodepool_build_id: 'b', nodepool_provider_name: 'rain' } },
    HAIL,
  ],
  rain: [HAIL],
};
export const driver = { name: 'weather', apiVersion: 1, schema: { properties: { pools: {} } },
  capabilities: { launches: true, pausesAtQuota: true, managesImages: true },
  getProviderConfig: (entry) => ({ name: entry.name, driverName: 'weather', entry, maxConcurrency: -1, pools: new Map(),
    managesImages: true, images: [] }),
  getProvider: (config) => ({ config, start: async () => {}, idle() {}, stop() {}, join: async () => {},
    async listImages() {
      if (config.name === 'storm') throw new Error('no answer');
      return images[config.name];
    } }) };
`;

beforeAll(async () => {
  await get().installDriver('weather', DRIVER);
  const providers = ['sky', 'rain', 'storm'].map((name) => ({ name, driver: 'weather', pools: [] }));
  await get().write('nodepool.yaml', JSON.stringify({ providers }));
});

const list = (...argv: string[]) => get().call('alien-image-list', '--no-headers', ...argv);

it('lists images of builds without a ready upload, each with the provider that it belongs to', async () => {
  await get().createBuild();
  await get().createUpload();

  const { status, stdout, stderr } = await list();

  expect([status, stdout]).toEqual([0, 'sky  orphan   x2\nsky  of hail  x5\n']);
  expect(stderr).toContain('Images of provider storm cannot be listed: no answer');
});

it('asks the named provider only', async () => {
  expect(await list('rain')).toEqual({ status: 0, stdout: 'rain  of hail  x5\n', stderr: '' });
});

it('warns of a provider that is not configured, with status 0, or 1 when strict', async () => {
  const message = expect.stringContaining('has no provider skky, it has sky, rain, storm') as string;

  expect(await list('skky')).toMatchObject({ status: 0, stdout: '', stderr: message });
  expect(await list('skky', '--strict')).toMatchObject({ status: 1, stderr: message });
});
