import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import { silentLogger, type ImageUpload } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import type { OpenStackClient } from './client/index.js';
import { Images } from './images.js';
import { FakeOpenStack } from '../test/fake/fake-openstack.js';
import { connect } from '../test/support/client.js';

const NEVER = new AbortController().signal;
const DATA = Buffer.alloc(5 * 1024 * 1024, 'x');
let dir: string;
let cloud: FakeOpenStack;
let client: OpenStackClient;
let images: Images;
let upload: ImageUpload;
let progress: [number, number][];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nodepool-images-'));
  cloud = await new FakeOpenStack().listen();
  client = connect(cloud);
  images = new Images({ client, clock: systemClock, logger: silentLogger, provider: 'sky', timeoutMs: 10_000 });
  const file = join(dir, 'image.qcow2');
  await writeFile(file, DATA);
  progress = [];
  const metadata = { nodepool_provider_name: 'sky', nodepool_build_id: 'b', nodepool_upload_id: 'u', kernel: '6' };
  const md5 = createHash('md5').update(DATA).digest('hex');
  const onProgress = (sent: number, total: number) => void progress.push([sent, total]);
  upload = { image: 'debian', name: 'debian-1', file, format: 'qcow2', metadata, md5, sha256: undefined, onProgress };
});

afterEach(async () => {
  await client.close();
  await cloud.close();
  await rm(dir, { recursive: true, force: true });
});

const ours = () => [...cloud.state.images.values()].filter(({ name }) => name === 'debian-1');

describe('an upload', () => {
  it('tells the id before the first byte, then how far it is, and ends with a whole image', async () => {
    const story: string[] = [];
    const onCreated = async (id: string) => {
      await Promise.resolve();
      story.push(`created ${id} after ${cloud.count('PUT', /image/)} requests with data`);
    };

    const id = await images.upload({ ...upload, onCreated }, NEVER);

    expect(story).toEqual([`created ${id} after 0 requests with data`]);
    expect(progress.length).toBeGreaterThan(3);
    expect(progress.at(-1)).toEqual([DATA.length, DATA.length]);
    expect(ours()).toEqual([
      expect.objectContaining({ id, status: 'active', size: DATA.length, kernel: '6', disk_format: 'qcow2' }),
    ]);
    expect(ours()[0]).toMatchObject({ 'owner_specified.openstack.md5': upload.md5 });
  });

  it.each([429, 401])('that is refused with %i once it was sent is sent again as a whole', async (status) => {
    cloud.faults.push({ method: 'PUT', path: /file$/, times: 1, status, headers: { 'retry-after': '0' } });

    await images.upload(upload, NEVER);

    expect(ours()).toMatchObject([{ status: 'active', size: DATA.length }]);
    expect(cloud.count('PUT', /image/)).toBe(2);
    expect(progress.filter(([sent]) => sent === DATA.length)).toHaveLength(2);
  });

  it('uses an image with the same name and data that is there already', async () => {
    const first = await images.upload(upload, NEVER);
    const second = await images.upload(upload, NEVER);

    expect(second).toBe(first);
    expect(cloud.count('PUT', /image/)).toBe(1);
  });

  it('marks an existing image as its own, before it reports it', async () => {
    await images.upload(upload, NEVER);
    const told: unknown[] = [];
    const onCreated = () => {
      told.push(ours()[0]?.['nodepool_upload_id']);
      return Promise.resolve();
    };
    const metadata = { ...upload.metadata, nodepool_build_id: 'b2', nodepool_upload_id: 'u2', min_disk: '4' };

    await images.upload({ ...upload, metadata, onCreated }, NEVER);

    expect(told).toEqual(['u2']);
    expect(ours()).toEqual([
      expect.objectContaining({ nodepool_build_id: 'b2', nodepool_upload_id: 'u2', kernel: '6' }),
    ]);
  });

  it('gives what Glance does not take as texts in its own form, and keeps format and visibility that are configured', async () => {
    const configured = { min_disk: '20', min_ram: '512', protected: 'True', tags: '["ci"]', visibility: 'community' };
    const metadata = { ...upload.metadata, ...configured, container_format: 'ovf', hw_qemu_guest_agent: 'True' };

    await images.upload({ ...upload, metadata }, NEVER);

    expect(ours()).toEqual([
      expect.objectContaining({
        ...{ min_disk: 20, min_ram: 512, protected: true, tags: ['ci'], visibility: 'community' },
        ...{ container_format: 'ovf', disk_format: 'qcow2', hw_qemu_guest_agent: 'True', name: 'debian-1' },
      }),
    ]);
  });

  it('calls the format vpc of qemu-img vhd, as Glance does', async () => {
    await images.upload({ ...upload, format: 'vpc' }, NEVER);

    expect(ours()).toEqual([expect.objectContaining({ disk_format: 'vhd' })]);
  });

  it.each(['[ci', 'ci', '7'])("fails with Glance's reason when its tags are %s", async (tags) => {
    const metadata = { ...upload.metadata, tags };

    await expect(images.upload({ ...upload, metadata }, NEVER)).rejects.toThrow(
      /does not match schema 'image': .* in tags/,
    );

    expect(ours()).toEqual([]);
  });

  it('of a file that differs from the build does not become ready', async () => {
    await expect(images.upload({ ...upload, md5: '0'.repeat(32) }, NEVER)).rejects.toThrow(
      /image\.qcow2" differs from the build: its md5 is \w{32}, expected 0{32}/,
    );

    expect(await images.list(false, NEVER)).toMatchObject([{ name: 'debian-1', ready: false }]);
  });

  it('that cannot be recorded sends nothing and leaves nothing', async () => {
    const onCreated = () => Promise.reject(new Error('ZooKeeper is away'));

    await expect(images.upload({ ...upload, onCreated }, NEVER)).rejects.toThrow('ZooKeeper is away');

    expect(cloud.count('PUT', /image/)).toBe(0);
    expect(ours()).toEqual([]);
  });

  it('that is aborted ends at once and leaves the image to the record that has its id', async () => {
    cloud.faults.push({ method: 'PUT', silent: true });
    const abort = new AbortController();
    void cloud.arrived('PUT', /image/).then(() => abort.abort(new Error('enough')));

    await expect(images.upload(upload, abort.signal)).rejects.toThrow('enough');

    expect(await images.list(false, NEVER)).toMatchObject([{ name: 'debian-1', ready: false }]);
  });

  it('that takes too long says which option allows more', async () => {
    cloud.faults.push({ method: 'PUT', silent: true });
    const clock = new VirtualClock();
    // The client's own limit runs on the machine's clock and must not come first.
    const timeoutMs = 3_600_000;
    images = new Images({ client, clock, logger: silentLogger, provider: 'sky', timeoutMs });
    void cloud.arrived('PUT', /image/).then(() => clock.advance(timeoutMs));

    await expect(images.upload(upload, NEVER)).rejects.toMatchObject({ code: 'NODEPOOL_IMAGE_TIMEOUT' });
  });

  it.each([
    ['MD5', { checksum: 'other' }],
    ['SHA-512, as it tells no MD5', { checksum: null, os_hash_algo: 'sha512', os_hash_value: 'other' }],
  ])('of which the cloud has other data is an error: by %s', async (_by, told) => {
    cloud.faults.push({ method: 'PUT', path: /file$/, status: 204, body: '' });
    const onCreated = (id: string) =>
      Promise.resolve(void Object.assign(cloud.state.images.get(id) ?? {}, { status: 'active', ...told }));

    await expect(images.upload({ ...upload, onCreated }, NEVER)).rejects.toThrow('checksum differs');

    expect(await images.list(false, NEVER)).toMatchObject([{ name: 'debian-1', ready: false }]);
  });

  it('of a file that is not there is an error without an image', async () => {
    await expect(images.upload({ ...upload, file: join(dir, 'none') }, NEVER)).rejects.toThrow('ENOENT');

    expect(cloud.count('POST', /image/)).toBe(0);
  });
});

describe('images', () => {
  it.each([
    ['queued', { ready: false, importing: false }],
    ['saving', { ready: false, importing: true }],
    ['importing', { ready: false, importing: true }],
    ['active', { ready: true, importing: false }],
    ['killed', { ready: false, importing: false }],
  ])('that are %s', async (status, shown) => {
    const id = await images.upload(upload, NEVER);
    Object.assign(cloud.state.images.get(id) ?? {}, { status });

    expect(await images.list(false, NEVER)).toMatchObject([shown]);
  });

  it('are listed by our tag, or all of them, and deleted as often as one likes', async () => {
    const id = await images.upload(upload, NEVER);

    const own = await images.list(false, NEVER);
    const all = await images.list(true, NEVER);
    await images.delete(id, NEVER);
    await images.delete(id, NEVER);

    expect(own).toEqual([expect.objectContaining({ externalId: id, name: 'debian-1', ready: true })]);
    expect(all.map(({ name }) => name).sort()).toEqual(['debian', 'debian-1']);
    expect(ours()).toEqual([]);
  });
});
