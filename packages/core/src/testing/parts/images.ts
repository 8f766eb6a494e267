import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newRequest } from '@nodepool/zk-protocol';
import { PROVIDER_TAG } from '../../contract/instance.js';
import type { ImageUpload } from '../../contract/driver.js';
import type { ContractPart, PartTest } from '../harness/part.js';

const NEVER = new AbortController().signal;

/** Using images of labels and of builders. */
export const images: ContractPart = {
  name: 'images',
  tests: () => [...always, ...managed],
};

const always: readonly PartTest[] = [
  {
    name: 'says at once whether the images of its labels exist',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      for (const pool of provider.config.pools.values()) {
        for (const label of pool.labels.keys()) {
          await harness.until(() => provider.labelReady(pool.name, label), `label "${label}" gets ready`, 600_000);
          assert.equal(provider.labelReady(pool.name, label), true, 'labelReady answers at once, true or false');
          const request = newRequest({ labels: [label] }, harness.cloud.clock.now());
          assert.equal(
            provider.getRequestHandler(pool, request).imagesAvailable(),
            true,
            'and so does imagesAvailable',
          );
        }
      }
    },
  },
  {
    name: 'manages images only if it says that it can',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const { managesImages } = harness.driver.capabilities;
      if (provider.config.managesImages)
        assert.ok(managesImages, 'config.managesImages needs capabilities.managesImages');
      if (!managesImages) return;
      assert.equal(typeof provider.uploadImage, 'function', 'a driver that manages images has uploadImage');
      assert.equal(typeof provider.deleteImage, 'function', 'and deleteImage');
      assert.equal(typeof provider.listImages, 'function', 'and listImages');
    },
  },
];

const managed: readonly PartTest[] = [
  {
    name: 'uploads an image, deletes it, and takes deleting twice for granted',
    applies: ({ managesImages }) => managesImages,
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      await withUpload(async (plain) => {
        const created: string[] = [];
        const metadata = { ...plain.metadata, [PROVIDER_TAG]: provider.config.name };
        const onCreated = (id: string) => Promise.resolve(void created.push(id));
        const uploading = Promise.resolve(provider.uploadImage?.({ ...plain, metadata, onCreated }, NEVER));
        const externalId = await harness.duringIo(uploading, 'the upload ends');
        assert.ok(typeof externalId === 'string' && externalId !== '', 'uploadImage returns the external id');
        assert.deepEqual(created, [externalId], 'uploadImage tells the external id before it sends the image');
        const listed = await harness.during(
          Promise.resolve(provider.listImages?.(NEVER) ?? []),
          'the images are listed',
        );
        const found = listed.find((image) => image.externalId === externalId);
        assert.equal(found?.metadata['nodepool_upload_id'], '0000000001', 'listImages shows the image with its tags');
        for (const what of ['the deletion ends', 'a second deletion ends']) {
          await harness.during(Promise.resolve(provider.deleteImage?.(externalId, NEVER)), what);
        }
      });
      assert.deepEqual(await harness.resources.list(), []);
    },
  },
];

async function withUpload(use: (upload: ImageUpload) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-contract-'));
  try {
    const file = join(dir, 'image.qcow2');
    await writeFile(file, 'no real image');
    await use({
      image: 'contract',
      name: 'contract-0000000001',
      file,
      format: 'qcow2',
      metadata: { nodepool_build_id: '0123456789abcdef0123456789abcdef', nodepool_upload_id: '0000000001' },
      md5: undefined,
      sha256: undefined,
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
