import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ImageUpload } from '@nodepool/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeCloud, connectInProcess } from '../cloud/index.js';
import { callsOf } from './cloud-call.js';
import { uploadImage } from './upload-image.js';
import { VirtualClock } from '../../test/virtual-clock.js';

const NEVER = new AbortController().signal;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'fake-images-'));
});

afterEach(() => rm(dir, { recursive: true, force: true }));

async function setUp(settings: Record<string, number> = {}) {
  const clock = new VirtualClock();
  const cloud = new FakeCloud({ clock, random: () => 0.5, settings: { images: [], ...settings } });
  const call = callsOf(connectInProcess(cloud, clock));
  const file = join(dir, 'image.raw');
  await writeFile(file, 'data');
  const upload: ImageUpload = {
    ...{ image: 'debian', name: 'debian-1', file, format: 'raw', metadata: {}, md5: undefined },
    sha256: undefined,
  };
  return { clock, cloud, call, upload };
}

describe('an uploaded image', () => {
  it('can be used once it is complete', async () => {
    const { cloud, call, upload } = await setUp();
    const seen: unknown[] = [];

    const id = await uploadImage(
      call,
      {
        ...upload,
        onCreated: (created) => Promise.resolve(void seen.push(created, cloud.hasImage('debian-1'))),
        onProgress: (sent, total) => void seen.push([sent, total]),
      },
      NEVER,
    );

    expect(seen).toEqual([id, false, [4, 4]]);
    expect(cloud.hasImage('debian-1')).toBe(true);
    expect(cloud.hasImage(id)).toBe(true);
  });

  it('is not usable if its file has another checksum', async () => {
    const { cloud, call, upload } = await setUp();

    await expect(uploadImage(call, { ...upload, md5: '0'.repeat(32) }, NEVER)).rejects.toThrow(
      /image\.raw" differs from the build: its md5 is 8d777f385d3dfec8815d20f7496026dc, expected 0+/,
    );

    expect(cloud.images()).toMatchObject([{ partial: true }]);
  });

  it('is left to the record that has its id when the upload is aborted', async () => {
    const { cloud, call, upload } = await setUp({ 'upload-time': 60 });
    const stop = new AbortController();
    const onCreated = () => Promise.resolve(stop.abort(new Error('enough')));

    await expect(uploadImage(call, { ...upload, onCreated }, stop.signal)).rejects.toThrow('enough');

    expect(cloud.images()).toMatchObject([{ partial: true }]);
  });

  it('is removed if its id cannot be recorded', async () => {
    const { cloud, call, upload } = await setUp();
    const onCreated = () => Promise.reject(new Error('ZooKeeper is away'));

    await expect(uploadImage(call, { ...upload, onCreated }, NEVER)).rejects.toThrow('ZooKeeper is away');

    expect(cloud.images()).toEqual([]);
  });
});
