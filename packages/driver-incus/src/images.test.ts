import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, type ImageUpload } from '@nodepool/core';
import { systemClock } from '@nodepool/zk-protocol';
import { afterAll, expect, it } from 'vitest';
import { connectTo, SIGNAL, TAGS } from '../test/support/daemon.js';
import { Images } from './images.js';
import { FakeIncus, type FakeOptions } from '../test/fake/fake-incus.js';

const dir = mkdtempSync(join(tmpdir(), 'nodepool-incus-'));
const file = join(dir, 'debian.tar');
const content = Buffer.alloc(3_000_000, 'x');
writeFileSync(file, content);
afterAll(() => rmSync(dir, { recursive: true }));

const upload: ImageUpload = {
  ...{ image: 'debian', name: 'debian-1', file, format: 'tar', md5: undefined },
  metadata: { ...TAGS, nodepool_build_id: '1', nodepool_upload_id: '2', variant: 'ci' },
  sha256: createHash('sha256').update(content).digest('hex'),
};

/** Files take real time, so the daemon runs on the real clock. */
function start(options: FakeOptions = {}, timeoutMs = 60_000) {
  const { daemon, client, operations } = connectTo(new FakeIncus(systemClock, options), systemClock);
  const images = new Images({
    ...{ client, operations, clock: systemClock, logger: silentLogger, provider: 'lab' },
    ...{ type: 'container', timeoutMs },
  });
  return { daemon, images, operations };
}

it.each(['lxd' as const, 'incus' as const])('uploads to %s, which verifies the fingerprint', async (product) => {
  const { images, daemon, operations } = start({ product });
  operations.start();
  const seen: string[] = [];

  const id = await images.upload(
    {
      ...upload,
      onCreated: async (externalId) => {
        seen.push(`${externalId} with ${daemon.calls.length} calls`);
        await Promise.resolve();
      },
      onProgress: (sent, total) => seen.push(`${sent}/${total}`),
    },
    SIGNAL,
  );

  expect(seen[0]).toBe(`${id} with 0 calls`);
  expect(seen.at(-1)).toBe('3000000/3000000');
  expect(await images.list(false, SIGNAL)).toMatchObject([
    { externalId: id, name: 'debian-1', ready: true, metadata: { nodepool_build_id: '1', nodepool_upload_id: '2' } },
  ]);
  await images.delete(id, SIGNAL);
  await images.delete(id, SIGNAL);
  expect(await images.list(true, SIGNAL)).toEqual([]);
  await operations.stop();
});

it('repeats an upload with the same fingerprint, so that there is one image', async () => {
  const { images, operations } = start();
  operations.start();

  const first = await images.upload(upload, SIGNAL);
  const again = await images.upload(upload, SIGNAL);

  expect(again).toBe(first);
  expect(await images.list(true, SIGNAL)).toHaveLength(1);
  await operations.stop();
});

it('refuses a file that is not what was built', async () => {
  const { images, daemon } = start();

  await expect(images.upload({ ...upload, sha256: 'abc' }, SIGNAL)).rejects.toThrow(
    /differs from the build: its sha256 is/,
  );
  expect(daemon.calls).toEqual([]);
});

it('ends with its time limit', async () => {
  const { images } = start({}, 1);

  await expect(images.upload(upload, SIGNAL)).rejects.toThrow(
    /was not uploaded within 0.001 s: raise image-upload-timeout/,
  );
});
