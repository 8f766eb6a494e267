import { expect, it } from 'vitest';
import type { ProviderImage } from '../../contract/driver.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { takeLeftImage } from './left-image.js';

const TAGS = {
  nodepool_provider_name: 'sky',
  nodepool_database_id: 'db',
  nodepool_build_id: 'b1',
  nodepool_upload_id: '0000000001',
};
const UPLOAD = { provider: 'sky', buildId: 'b1', id: '0000000001' };
const UNTIL_MS = 60_000;

const image = (externalId: string, changes: Partial<ProviderImage> = {}): ProviderImage => ({
  ...{ externalId, name: externalId, ready: false, metadata: TAGS },
  ...changes,
});

/** @param list - the images after a time */
async function take(list: (ms: number) => ProviderImage[], databaseId: string | undefined = 'db') {
  const clock = new VirtualClock();
  const startMs = clock.now();
  const deleted: string[] = [];
  const provider = {
    listImages: () =>
      Promise.resolve(list(clock.now() - startMs).filter(({ externalId }) => !deleted.includes(externalId))),
    deleteImage: (id: string) => Promise.resolve(void deleted.push(id)),
  };
  const isOfAnother = (id: string) => id === 'other';
  const left = { upload: UPLOAD, databaseId, isOfAnother, untilMs: startMs + UNTIL_MS, clock };
  let taken: string | undefined | null = null;
  void takeLeftImage(provider, left, new AbortController().signal).then((id) => (taken = id));
  while (taken === null) await clock.advance(1_000);
  return { taken, deleted, ms: clock.now() - startMs };
}

it('takes the complete image of an upload, and deletes what else was made for it', async () => {
  expect(await take(() => [image('part'), image('whole', { ready: true })])).toMatchObject({
    ...{ taken: 'whole', deleted: ['part'] },
  });
});

it('waits for an image that the cloud imports', async () => {
  const found = await take((ms) => [image('a', ms < 30_000 ? { importing: true } : { ready: true })]);

  expect(found).toMatchObject({ taken: 'a', deleted: [] });
  expect(found.ms).toBeLessThan(34_000);
});

it('deletes an image that the cloud has not imported in time', async () => {
  const found = await take(() => [image('a', { importing: true })]);

  expect(found).toMatchObject({ taken: undefined, deleted: ['a'] });
  expect(found.ms).toBeGreaterThanOrEqual(UNTIL_MS);
});

it.each([
  ['of another upload', { ...TAGS, nodepool_upload_id: '0000000002' }],
  ['of another build', { ...TAGS, nodepool_build_id: 'b2' }],
  ['of another provider', { ...TAGS, nodepool_provider_name: 'sea' }],
  ['of another database', { ...TAGS, nodepool_database_id: 'db2' }],
])('leaves images %s alone', async (_what, metadata) => {
  const list = () => [image('a', { metadata, ready: true }), image('b', { metadata })];

  expect(await take(list)).toMatchObject({ taken: undefined, deleted: [] });
});

it('leaves the image of another record with the same numbers alone, and all without an id of the database', async () => {
  expect(await take(() => [image('other', { ready: true })])).toMatchObject({ taken: undefined, deleted: [] });
  const untagged = { nodepool_provider_name: 'sky', nodepool_build_id: 'b1', nodepool_upload_id: '0000000001' };
  const none = await take(() => [image('a', { ready: true, metadata: untagged })], undefined);
  expect(none).toMatchObject({ taken: undefined, deleted: [] });
});
