// Without a timestamp in image-name-format, two uploads of the same data are one image in the cloud.
import {
  buildPath,
  encodeBuild,
  encodeUpload,
  newBuild,
  newUpload,
  uploadPath,
  type BuildRecord,
} from '@nodepool/zk-protocol';
import { afterEach, expect, it, vi } from 'vitest';
import { MAKE_IMAGE, World } from '../../test/support/world.js';

const WAIT = { timeout: 50_000, interval: 20 };
const [OLD, NEW] = ['a'.repeat(32), 'b'.repeat(32)];
const UPLOAD = '0000000001';

let world: World | undefined;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

/** A build with an upload. */
async function add({ zk }: World, id: string, state: BuildRecord['state'], externalId: string): Promise<string> {
  const path = uploadPath('debian', id, 'sky', UPLOAD);
  const key = { image: 'debian', buildId: id, provider: 'sky', id: UPLOAD };
  await zk.ensurePath(path);
  await zk.setData(path, encodeUpload(newUpload(key, { state: 'ready', externalId }, Date.now())));
  await zk.setData(buildPath('debian', id), encodeBuild(newBuild({ image: 'debian', id }, { state }, Date.now())));
  return path;
}

it('keeps an image in the cloud until the last of its uploads goes', async () => {
  const diskimages = `- name: debian\n  pause: true\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n`;
  const of = (world = await World.start({ diskimages, provider: 'pause: true' }));
  await of.leakImage({ nodepool_build_id: NEW, nodepool_upload_id: UPLOAD });
  const [{ externalId = '' } = {}] = await of.cloudImages();
  const kept = await add(of, NEW, 'ready', externalId);
  const forgotten = await add(of, OLD, 'deleting', externalId);

  await of.builder();

  await vi.waitFor(async () => expect(await of.zk.exists(buildPath('debian', OLD))).toBeUndefined(), WAIT);
  expect(await of.zk.exists(forgotten)).toBeUndefined();
  expect((await of.cloudImages()).map((image) => image.externalId)).toEqual([externalId]);

  const { stat } = await of.zk.getData(buildPath('debian', NEW));
  const gone = newBuild({ image: 'debian', id: NEW }, { state: 'deleting' }, Date.now());
  await of.zk.setData(buildPath('debian', NEW), encodeBuild(gone), stat.version);

  await vi.waitFor(async () => expect(await of.zk.exists(kept)).toBeUndefined(), WAIT);
  expect(await of.cloudImages()).toEqual([]);
});
