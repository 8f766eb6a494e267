import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  encodeUpload,
  imageBuildLockPath,
  newUpload,
  systemClock,
  uploadLockPath,
  uploadPath,
  uploadsPath,
  withUpload,
  ZkLock,
  type Clock,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MAKE_IMAGE, World } from './support/world.js';

let world: World | undefined;
const WAIT = { timeout: 50_000, interval: 20 };
const DEBIAN = `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n`;
const READY = { builds: ['ready'], uploads: ['sky ready'] };

afterEach(async () => {
  await world?.end();
  world = undefined;
});

const settled = (of: World, states: { builds: string[]; uploads: string[] }) =>
  vi.waitFor(() => expect(of.states('debian')).toEqual(states), WAIT);

/** A world with two builders that both have the files of one build, not uploaded yet. */
async function twoBuilders() {
  const of = (world = await World.start({ diskimages: DEBIAN, provider: 'pause: true' }));
  const first = await of.builder();
  await settled(of, { builds: ['ready'], uploads: [] });
  const images2 = join(of.dir, 'images2');
  await mkdir(images2);
  for (const name of await of.files()) await copyFile(join(of.imagesDir, name), join(images2, name));
  const second = await of.builder({ imagesDir: images2, hostname: 'nb02.example.com' });
  return { of, builders: [first, second] };
}

describe('two builders with the files of one build', () => {
  it('upload it once, and delete it once', async () => {
    const { of, builders } = await twoBuilders();
    const config = await of.reload({ diskimages: DEBIAN });
    await Promise.all(builders.map((builder) => builder.reconfigure(config)));
    await settled(of, READY);
    await of.zk.sync('/');

    of.cloud.cloud.set('api-time', 0.3);
    const [upload] = [...(of.tree.images.get('debian')?.uploads.values() ?? [])];
    if (!upload) throw new Error('no upload');
    const paused = await of.reload({ diskimages: DEBIAN, provider: 'pause: true' });
    await Promise.all(builders.map((builder) => builder.reconfigure(paused)));
    const body = encodeUpload(withUpload(upload, { state: 'deleting' }, Date.now()));
    await of.zk.setData(uploadPath('debian', upload.buildId, 'sky', upload.id), body, upload.stat?.version);

    await settled(of, { builds: ['ready'], uploads: [] });
    for (const builder of builders) {
      await builder.drain(10_000);
      await builder.join();
    }
    expect(of.states('debian')).toEqual({ builds: ['ready'], uploads: [] });
    expect(of.said.filter((text) => text === 'info Upload is ready')).toHaveLength(1);
    expect(of.said.filter((text) => text === 'info Upload removed')).toHaveLength(1);
    expect(of.cloud.cloud.images()).toEqual([]);
  });
});

describe('a lock that another process holds', () => {
  it('on an upload is watched: after its release, the upload of its builder is continued', async () => {
    const of = (world = await World.start({ diskimages: DEBIAN, provider: 'pause: true' }));
    const builder = await of.builder();
    await settled(of, { builds: ['ready'], uploads: [] });
    const lock = await heldUpload(of);
    await builder.reconfigure(await of.reload({ diskimages: DEBIAN }));
    await vi.waitFor(() => expect(of.said).toContain('info Skipping upload: another builder uploads it'), WAIT);
    await settled(of, { builds: ['ready'], uploads: ['sky uploading'] });

    await lock.release();

    await settled(of, READY);
    expect(of.said).toContain('info Upload of a builder that is gone is continued');
    expect(of.happened.filter((text) => text.startsWith('sweep'))).toEqual([]);
  });

  it('on an upload is lost: the upload is continued', async () => {
    const of = (world = await World.start({ diskimages: DEBIAN, cloud: 'answer-time: 3600' }));
    await of.builder();
    const path = await vi.waitFor(() => {
      const [upload] = [...(of.tree.images.get('debian')?.uploads.values() ?? [])];
      if (!upload || of.cloud.cloud.images().length === 0) throw new Error('not begun');
      return uploadLockPath('debian', upload.buildId, 'sky');
    }, WAIT);
    const [before] = of.cloud.cloud.images();
    of.cloud.cloud.set('answer-time', 0);

    await ZkLock.forceUnlock(of.zk, path);

    await settled(of, READY);
    expect(of.said).toContain('info Upload of a builder that is gone is continued');
    expect(of.said.join('\n')).not.toContain('Upload removed');
    await vi.waitFor(() => expect(of.cloud.cloud.images()).toHaveLength(1), WAIT);
    expect(before).toMatchObject({ partial: true });
  });

  it('on an image is watched', async () => {
    const of = (world = await World.start({ diskimages: DEBIAN }));
    const lock = new ZkLock(of.zk, imageBuildLockPath('debian'));
    await lock.acquire();
    const builder = await of.builder();
    await vi.waitFor(
      () =>
        expect(builder.status('debian')).toMatchObject({
          waits: expect.stringMatching(/^another builder builds it/) as string,
        }),
      WAIT,
    );

    await lock.release();

    await settled(of, READY);
  });
});

/** Creates the record of another builder's upload. @returns the held lock */
async function heldUpload(of: World): Promise<ZkLock> {
  const { id = '' } = of.lastBuild('debian') ?? {};
  await of.zk.ensurePath(uploadsPath('debian', id, 'sky'));
  const lock = new ZkLock(of.zk, uploadLockPath('debian', id, 'sky'));
  await lock.acquire();
  const record = newUpload(
    { image: 'debian', buildId: id, provider: 'sky', id: '' },
    { state: 'uploading' },
    Date.now(),
  );
  await of.zk.create(`${uploadsPath('debian', id, 'sky')}/`, encodeUpload(record), { sequential: true });
  return lock;
}

describe('a sweep', () => {
  /** A clock that shortens timers of one minute. */
  const hurried: Clock = {
    now: () => systemClock.now(),
    setTimer: (ms, fire) => systemClock.setTimer(ms === 60_000 ? 200 : ms, fire),
  };

  it('finds work that no event announced, and reports it', async () => {
    const of = (world = await World.start({ diskimages: DEBIAN, provider: 'pause: true' }));
    await of.builder();
    await settled(of, { builds: ['ready'], uploads: [] });
    const images2 = join(of.dir, 'images2');
    await mkdir(images2);
    of.config = await of.reload({ diskimages: DEBIAN });
    const second = await of.builder({ imagesDir: images2, hostname: 'nb02.example.com', clock: hurried });
    await vi.waitFor(() => expect(second.status('debian')).toEqual({ waits: 'the newest build is recent' }), WAIT);
    expect(of.happened).not.toContain('sweep found upload');

    for (const name of await of.files()) await copyFile(join(of.imagesDir, name), join(images2, name));

    await settled(of, READY);
    await vi.waitFor(() => expect(of.happened).toContain('sweep found upload'), WAIT);
  });

  it('removes items that no event announced, and reports it', async () => {
    const of = (world = await World.start({ diskimages: DEBIAN, provider: 'pause: true' }));
    const zk = await of.connect();
    const deaf = new Proxy(zk, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target);
        if (key !== 'addWatch') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        const addWatch: ZooKeeper['addWatch'] = (path, mode, listener) =>
          target.addWatch(path, mode, (event) => {
            if (!event.path.includes('/lock/')) listener(event);
          });
        return addWatch;
      },
    });
    await of.builder({ zk: deaf, clock: hurried });
    await settled(of, { builds: ['ready'], uploads: [] });
    const lock = await heldUpload(of);
    await settled(of, { builds: ['ready'], uploads: ['sky uploading'] });
    expect(of.happened).not.toContain('sweep found cleanup');

    await lock.release();

    await settled(of, { builds: ['ready'], uploads: [] });
    await vi.waitFor(() => expect(of.happened).toContain('sweep found cleanup'), WAIT);
  });
});
