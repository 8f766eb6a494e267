// Data of older versions: build and upload ids of ten digits, which are not unique across images.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  buildPath,
  encodeBuild,
  encodeUpload,
  newBuild,
  newUpload,
  uploadPath,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import { afterEach, expect, it, vi } from 'vitest';
import { MAKE_IMAGE, World } from './support/world.js';

const ID = '0000000001';
const WAIT = { timeout: 50_000, interval: 20 };
const IMAGES = ['debian', 'fedora'];

let world: World | undefined;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

async function start(): Promise<World> {
  const diskimages = IMAGES.map(
    (name) => `- name: ${name}\n  pause: true\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n`,
  );
  return (world = await World.start({ diskimages: diskimages.join(''), provider: 'pause: true', images: IMAGES }));
}

async function addBuild({ zk }: World, image: string): Promise<void> {
  const build = newBuild({ image, id: ID }, { state: 'ready', formats: ['qcow2'] }, Date.now());
  await zk.ensurePath(buildPath(image, ID));
  await zk.setData(buildPath(image, ID), encodeBuild(build));
}

async function addUpload({ zk }: World, image: string, fields: Partial<UploadRecord>): Promise<string> {
  const path = uploadPath(image, ID, 'sky', ID);
  const upload = newUpload({ image, buildId: ID, provider: 'sky', id: ID }, { state: 'ready', ...fields }, Date.now());
  await zk.ensurePath(path);
  await zk.setData(path, encodeUpload(upload));
  return path;
}

it('removes the files of a deleted build, and keeps the files of another image with the same id', async () => {
  const of = await start();
  await addBuild(of, 'fedora');
  for (const image of IMAGES) await writeFile(join(of.imagesDir, `${image}-${ID}.qcow2`), 'image');

  await of.builder();

  await vi.waitFor(async () => expect(await of.files()).not.toContain(`debian-${ID}.qcow2`), WAIT);
  expect(await of.files()).toEqual([`fedora-${ID}.qcow2`]);
});

it('forgets an upload without a cloud id, and keeps the image of another upload with the same numbers', async () => {
  const of = await start();
  for (const image of IMAGES) await addBuild(of, image);
  await of.leakImage({ nodepool_build_id: ID, nodepool_upload_id: ID });
  const [inService] = await of.cloudImages();
  await addUpload(of, 'fedora', { externalId: inService?.externalId });
  const forgotten = await addUpload(of, 'debian', { state: 'uploading', externalId: null });

  await of.builder();

  await vi.waitFor(async () => expect(await of.zk.exists(forgotten)).toBeUndefined(), WAIT);
  expect(await of.cloudImages()).toHaveLength(1);
});
