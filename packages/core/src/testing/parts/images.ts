import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newRequest } from '@nodepool/zk-protocol';
import { BUILD_ID_TAG, DATABASE_ID_TAG, PROVIDER_TAG, UPLOAD_ID_TAG } from '../../contract/instance.js';
import { takeLeftImage } from '../../cloud/ownership/left-image.js';
import type { ImageUpload, Provider } from '../../contract/driver.js';
import type { Harness } from '../harness/harness.js';
import type { ContractPart, PartTest } from '../harness/part.js';

const NEVER = new AbortController().signal;
/** Several parts of what drivers read at once. */
const FILE_BYTES = 3 * 2 ** 20;
const COMPLETE = 'the upload was complete';

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
        const onCreated = (id: string) => Promise.resolve(void created.push(id));
        const uploading = uploadTo(provider, plain, { onCreated });
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
  {
    name: 'continues an upload, at whatever moment the builder dies',
    applies: ({ managesImages }) => managesImages,
    run: async (context) => {
      const moments: string[] = [];
      await withUpload((upload) => uploadUntil(context.harness, upload, (moment) => moments.push(moment) === 0));
      for (const [index, moment] of moments.entries()) {
        const next = await context.open();
        await withUpload((upload) => killAndContinue(next, upload, index, moment));
        await next.close();
      }
    },
  },
];

/** Uploads until `dies` says that the process ends. Then no answer arrives, and connections break. */
async function uploadUntil(harness: Harness, upload: ImageUpload, dies: (moment: string) => boolean): Promise<void> {
  const { provider } = await harness.startLauncher();
  const death = new AbortController();
  const killed = once(death.signal, 'abort');
  const reach = (moment: string): void => {
    if (dies(moment)) death.abort(new Error('the process has ended'));
  };
  const listeners = {
    onCreated: (id: string): Promise<void> => {
      reach(`it stored the id ${id}`);
      return death.signal.aborted ? new Promise(() => undefined) : Promise.resolve();
    },
    onProgress: (sent: number, total: number) => reach(`it had read ${sent} of ${total} bytes`),
  };
  const uploading = uploadTo(provider, upload, listeners, death.signal).then(
    () => reach(COMPLETE),
    (error: unknown) => (death.signal.aborted ? undefined : Promise.reject(error as Error)),
  );
  await harness.duringIo(Promise.race([uploading, killed]), 'the upload ends');
}

async function killAndContinue(harness: Harness, upload: ImageUpload, index: number, moment: string): Promise<void> {
  const when = `after the builder died when ${moment}`;
  let seen = 0;
  await uploadUntil(harness, upload, () => seen++ === index);
  const { provider } = await harness.startLauncher();
  let sentBytes = 0;
  const continuing = continueUpload(harness, provider, upload, (sent) => (sentBytes = sent));
  const externalId = await harness.duringIo(continuing, `the upload is continued ${when}`);

  const listed = await harness.during(Promise.resolve(provider.listImages?.(NEVER) ?? []), 'the images are listed');
  assert.deepEqual(
    listed.map((image) => [image.externalId, image.ready]),
    [[externalId, true]],
    `listImages shows one image, which is ready, ${when}`,
  );
  assert.equal((await harness.resources.list()).length, 1, `the cloud has one image ${when}`);
  if (index === 0) assert.ok(sentBytes > 0, `no image is ready ${when}: its data were not sent`);
  if (moment === COMPLETE) assert.equal(sentBytes, 0, `nothing is sent again ${when}`);
  await harness.during(Promise.resolve(provider.deleteImage?.(externalId, NEVER)), 'the deletion ends');
  assert.deepEqual(await harness.resources.list(), [], `nothing is left ${when}`);
}

/** What the next builder does. */
async function continueUpload(
  { cloud: { clock } }: Harness,
  provider: Provider,
  upload: ImageUpload,
  onProgress: (sent: number) => void,
): Promise<string> {
  const { [BUILD_ID_TAG]: buildId = '', [UPLOAD_ID_TAG]: id = '' } = upload.metadata;
  const key = { provider: provider.config.name, buildId, id };
  const untilMs = clock.now() + 3_600_000;
  const left = { upload: key, databaseId: upload.metadata[DATABASE_ID_TAG], isOfAnother: () => false, untilMs, clock };
  return (await takeLeftImage(provider, left, NEVER)) ?? uploadTo(provider, upload, { onProgress });
}

function uploadTo(
  provider: Provider,
  upload: ImageUpload,
  listeners: Pick<ImageUpload, 'onCreated' | 'onProgress'>,
  signal = NEVER,
): Promise<string> {
  const metadata = { ...upload.metadata, [PROVIDER_TAG]: provider.config.name };
  if (!provider.uploadImage) throw new Error('the provider has no uploadImage');
  return provider.uploadImage({ onCreated: () => Promise.resolve(), ...upload, ...listeners, metadata }, signal);
}

async function withUpload(use: (upload: ImageUpload) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-contract-'));
  try {
    const file = join(dir, 'image.qcow2');
    await writeFile(file, Buffer.alloc(FILE_BYTES, 'no real image'));
    await use({
      image: 'contract',
      name: 'contract-0000000001',
      file,
      format: 'qcow2',
      metadata: {
        [BUILD_ID_TAG]: '0123456789abcdef0123456789abcdef',
        [UPLOAD_ID_TAG]: '0000000001',
        [DATABASE_ID_TAG]: 'contract',
      },
      md5: undefined,
      sha256: undefined,
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
