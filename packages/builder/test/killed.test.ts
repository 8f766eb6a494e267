// The builder process, killed at moments when cloud and ZooKeeper differ.
import { encodeUpload, uploadPath, withUpload } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { kill, Processes } from './support/processes.js';
import { MAKE_IMAGE, World } from './support/world.js';

const WAIT = { timeout: 60_000, interval: 20 };
const LIMITS = { timeout: 150_000 };
const DEBIAN = `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n`;
const READY = { builds: ['ready'], uploads: ['sky ready'] };

let world: World | undefined;
const processes = new Processes();

afterEach(async () => {
  await processes.end();
  await world?.end();
  world = undefined;
});

const settled = (of: World) => vi.waitFor(() => expect(of.states('debian')).toEqual(READY), WAIT);
const uploadOf = (of: World) => [...(of.tree.images.get('debian')?.uploads.values() ?? [])][0];

describe('a builder that is killed', () => {
  it('between creating an image and storing its id leaves no image behind', LIMITS, async () => {
    const of = (world = await World.start({ diskimages: DEBIAN, cloud: 'answer-time: 3600' }));
    const child = await processes.builder(of);
    const [lost] = await vi.waitFor(() => {
      const images = of.cloud.cloud.images();
      expect(images).toHaveLength(1);
      return images;
    }, WAIT);
    await vi.waitFor(() => expect(uploadOf(of)).toMatchObject({ state: 'uploading', externalId: null }), WAIT);

    await kill(child);

    of.cloud.cloud.set('answer-time', 0);
    await processes.builder(of);
    await settled(of);
    await vi.waitFor(() => {
      const ids = of.cloud.cloud.images().map(({ id }) => id);
      expect(ids).toHaveLength(1);
      expect(ids).not.toContain(lost?.id);
    }, WAIT);
  });

  it('during a deletion leaves neither image nor record', LIMITS, async () => {
    const of = (world = await World.start({ diskimages: DEBIAN }));
    const child = await processes.builder(of);
    await settled(of);
    const upload = uploadOf(of);
    if (!upload) throw new Error('no upload');
    of.cloud.cloud.set('answer-time', 3_600);
    const path = uploadPath('debian', upload.buildId, 'sky', upload.id);
    const body = encodeUpload(withUpload(upload, { state: 'deleting' }, Date.now()));
    await of.zk.setData(path, body, upload.stat?.version);
    await vi.waitFor(() => expect(of.cloud.cloud.images().map(({ id }) => id)).not.toContain(upload.externalId), WAIT);
    expect(await of.zk.exists(path)).toBeDefined();

    await kill(child);

    of.cloud.cloud.set('answer-time', 0);
    await processes.builder(of);
    await vi.waitFor(async () => expect(await of.zk.exists(path)).toBeUndefined(), WAIT);
    await settled(of);
    await vi.waitFor(
      () => expect(of.cloud.cloud.images().map(({ id }) => id)).toEqual([uploadOf(of)?.externalId]),
      WAIT,
    );
  });

  it('before it has sent all data uploads again, and the partial image is removed', LIMITS, async () => {
    const of = (world = await World.start({ diskimages: DEBIAN, cloud: 'upload-time: 3600' }));
    const child = await processes.builder(of);
    await vi.waitFor(() => expect(uploadOf(of)?.externalId).toEqual(expect.any(String)), WAIT);
    const partial = uploadOf(of)?.externalId;

    await kill(child);

    of.cloud.cloud.set('upload-time', 0);
    await processes.builder(of);
    await settled(of);
    await vi.waitFor(() => {
      const ids = of.cloud.cloud.images().map(({ id }) => id);
      expect(ids).toHaveLength(1);
      expect(ids).not.toContain(partial);
    }, WAIT);
  });
});
