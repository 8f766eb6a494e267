import { beforeEach, describe, expect, it } from 'vitest';
import {
  imageBuildRequestPath,
  newBuild,
  newUpload,
  systemClock,
  uploadPath,
  type BuildRecord,
  type ImageEntry,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import type { Config } from '@nodepool/core';
import { createImageApi, imageToApi } from './image-api.js';

const NOW_MS = 1_600_000_000_000;

function image(state: BuildRecord['state'] = 'ready', changes: Partial<ImageEntry> = {}): ImageEntry {
  const key = { image: 'debian', buildId: 'b1', provider: 'sky', id: '1' };
  const build = newBuild({ image: 'debian', id: 'b1' }, { state, formats: ['raw'] }, NOW_MS);
  const upload = newUpload(key, { state: 'ready', externalId: 'x1' }, NOW_MS);
  return {
    ...{ name: 'debian', paused: false, buildRequestedMs: undefined, builds: new Map([['b1', build]]) },
    uploads: new Map([[uploadPath('debian', 'b1', 'sky', '1'), upload]]),
    ...changes,
  };
}

it('shows an image with its builds and their uploads', () => {
  expect(imageToApi(image('ready', { buildRequestedMs: 5_000 }))).toMatchObject({
    ...{ name: 'debian', paused: false, pause_reason: null, build_requested_time: 5 },
    builds: [
      {
        id: 'b1',
        state: 'ready',
        formats: ['raw'],
        canary: null,
        uploads: [{ id: '1', external_id: 'x1', serves: true }],
      },
    ],
  });
});

it('shows why a build began, how long it and its upload took, sizes, and whether the upload was tested', () => {
  const { builds, uploads, ...rest } = image();
  const figures = { build_reason: 'requested', duration: 60.5, files: { raw: { bytes: 7 } } };
  const withFigures = {
    ...rest,
    builds: new Map([...builds].map(([id, build]) => [id, { ...build, raw: { ...build.raw, ...figures } }])),
    uploads: new Map(
      [...uploads].map(([path, upload]) => [path, { ...upload, raw: { ...upload.raw, duration: 9, tested: true } }]),
    ),
  };

  const uploadToApi = { duration: 9, tested: true };
  expect(imageToApi(withFigures)).toMatchObject({
    builds: [{ reason: 'requested', duration: 60.5, sizes: { raw: 7 }, uploads: [uploadToApi] }],
  });
});

describe('a request for a build', () => {
  let zk: ZooKeeper;
  let images: Map<string, ImageEntry>;
  let diskimages: Map<string, { abstract: boolean; pause: boolean }>;

  beforeEach(() => {
    zk = connectInMemory(new MemoryServer(systemClock)).zk;
    images = new Map();
    diskimages = new Map([['debian', { abstract: false, pause: false }]]);
  });

  const ask = (name: string) => {
    const config = () => ({ diskimages }) as unknown as Config;
    const { operations } = createImageApi({ zk, config, images: () => images });
    const build = operations.find(({ id }) => id === 'buildImage') ?? expect.fail();
    return build.handle({ path: { name }, query: {}, body: {}, actor: 'alice' });
  };

  it('is stored, and changes nothing when repeated', async () => {
    const answers = [await ask('debian'), await ask('debian')];

    expect(answers).toEqual(Array(2).fill({ image: 'debian', requested: true }));
    expect(await zk.exists(imageBuildRequestPath('debian'))).toBeDefined();
  });

  it('is refused for images that are not configured or only a base of others', async () => {
    diskimages.set('base', { abstract: true, pause: false });

    for (const name of ['base', 'none'])
      await expect(ask(name)).rejects.toMatchObject({ status: 404, code: 'unknown-image' });
  });

  it('is refused while the configuration or an operator pauses the image', async () => {
    diskimages.set('paused', { abstract: false, pause: true });
    images.set('debian', image('ready', { paused: true }));

    for (const name of ['paused', 'debian'])
      await expect(ask(name)).rejects.toMatchObject({ status: 409, code: 'paused' });
  });
});
