import { decodeUpload, newBuild, systemClock, uploadPath, uploadsPath } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { StoredUpload } from './stored-upload.js';

const zk = connectInMemory(new MemoryServer(systemClock)).zk;
const context = { zk, clock: systemClock };
const planned = {
  build: newBuild({ image: 'debian', id: 'b1' }, { state: 'ready', username: 'zuul' }, 0),
  provider: 'sky',
};

beforeAll(async () => {
  await zk.whenConnected();
  await zk.ensurePath(uploadsPath('debian', 'b1', 'sky'));
});
afterAll(() => zk.close());

async function stored({ current: { id } }: StoredUpload) {
  const { data, stat } = await zk.getData(uploadPath('debian', 'b1', 'sky', id));
  return decodeUpload({ image: 'debian', buildId: 'b1', provider: 'sky', id }, data, stat, 0);
}

it('begins as uploading, with the login data of its build', async () => {
  const upload = await StoredUpload.create(context, planned);

  expect(await stored(upload)).toMatchObject({ state: 'uploading', username: 'zuul', externalId: null });
});

it('is written no more by a builder from which another one has taken it', async () => {
  const first = await StoredUpload.create(context, planned);
  await first.update({ externalId: 'image-1' });
  const next = new StoredUpload(context, first.current);

  await next.update({});

  await expect(first.update({ state: 'deleting' }, { comment: 'its session ended' })).rejects.toMatchObject({
    code: 'ZK_BAD_VERSION',
  });
  await next.update({ state: 'ready' });
  expect(await stored(next)).toMatchObject({ state: 'ready', externalId: 'image-1' });
});
