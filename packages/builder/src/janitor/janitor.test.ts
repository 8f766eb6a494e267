import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  buildPath,
  encodeBuild,
  encodeUpload,
  newBuild,
  newUpload,
  systemClock,
  uploadPath,
  type Clock,
} from '@nodepool/zk-protocol';
import type { Driver, Provider } from '@nodepool/core';
import { createFakeDriver } from '@nodepool/driver-fake';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { builderConditions } from '../builder-conditions.js';
import { MAKE_IMAGE, World, type WorldOptions } from '../../test/support/world.js';

let world: World | undefined;
const WAIT = { timeout: 50_000, interval: 20 };
const DEBIAN = `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n`;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

async function start(options: Partial<WorldOptions> = {}): Promise<World> {
  world = await World.start({ diskimages: DEBIAN, ...options });
  return world;
}

const settled = (of: World, states: { builds: string[]; uploads: string[] }) =>
  vi.waitFor(() => expect(of.states('debian')).toEqual(states), WAIT);
const READY = { builds: ['ready'], uploads: ['sky ready'] };

/** A clock on which waits of one length are short, and steady time runs as much faster. */
const hurried = (longMs: number, ms: number): Clock => ({
  now: () => systemClock.now(),
  steadyNow: () => (performance.now() * longMs) / ms,
  setTimer: (wanted, fire) => systemClock.setTimer(wanted === longMs ? ms : wanted, fire),
});

describe('what is no longer needed', () => {
  it('goes from the disk with delete-after-upload, but for the formats to keep', async () => {
    const of = await start({
      diskimages: `${DEBIAN}  formats: [raw, vhdx]\n  delete-after-upload: true\n  keep-formats: [raw]\n`,
    });
    await of.builder();
    await settled(of, READY);

    await vi.waitFor(async () => {
      const formats = (await of.files()).map((name) => name.replace(/^[^.]*\./, ''));
      expect(formats.sort()).toEqual(['raw', 'raw.md5', 'raw.sha256']);
    }, WAIT);
  });

  it('goes when a provider is emptied, and when the image leaves the configuration', async () => {
    const other = DEBIAN.replace('debian', 'other');
    const of = await start({ diskimages: DEBIAN + other, images: ['debian', 'other'] });
    const builder = await of.builder();
    await settled(of, READY);
    await vi.waitFor(() => expect(of.states('other')).toEqual(READY), WAIT);

    await builder.reconfigure(
      await of.reload({ diskimages: `${DEBIAN}${other}  formats: [raw]\n`, images: ['debian'] }),
    );
    await vi.waitFor(() => expect(of.states('other')).toMatchObject({ uploads: [] }), WAIT);
    expect(await of.cloudImages()).toHaveLength(1);

    await builder.reconfigure(await of.reload({ diskimages: DEBIAN, images: [] }));
    await vi.waitFor(() => expect(of.states('debian').uploads).toEqual([]), WAIT);
    await vi.waitFor(() => expect(of.states('other')).toEqual({ builds: [], uploads: [] }), WAIT);
    await vi.waitFor(
      async () => expect((await of.files()).filter((name) => name.startsWith('other'))).toEqual([]),
      WAIT,
    );
    expect(await of.cloudImages()).toEqual([]);
  });

  it('is found in the cloud and on the disk although no record speaks of it', async () => {
    const of = await start();
    await of.leakImage();
    await of.builder({ clock: hurried(60_000, 300) });
    await settled(of, READY);
    await writeFile(join(of.imagesDir, `debian-${'e'.repeat(32)}.qcow2`), 'left by a crash');
    await writeFile(join(of.imagesDir, 'notes.txt'), 'of a person');

    await vi.waitFor(async () => {
      expect((await of.cloudImages()).map(({ name }) => name)).not.toContain('leaked');
      expect((await of.files()).filter((name) => name.includes('eeee'))).toEqual([]);
    }, WAIT);
    expect(await of.cloudImages()).toHaveLength(1);
    expect(await of.files()).toContain('notes.txt');
    expect(of.happened.filter((text) => text.startsWith('sweep'))).toEqual([]);
  });

  it('is not taken for leaked while the list of the cloud may lag behind its deletion', async () => {
    const fake = createFakeDriver();
    let lists = 0;
    const listsAtDeletion: number[] = [];
    const counting: Driver = {
      ...fake,
      getProvider(config, context) {
        const provider = fake.getProvider(config, context);
        const list = provider.listImages?.bind(provider);
        const remove = provider.deleteImage?.bind(provider);
        const listImages: typeof list = (signal) => (lists++, list?.(signal) ?? Promise.resolve([]));
        const deleteImage: typeof remove = async (id, signal) => (listsAtDeletion.push(lists), remove?.(id, signal));
        return Object.defineProperties<Provider>(provider, {
          listImages: { value: listImages },
          deleteImage: { value: deleteImage },
        });
      },
    };
    const of = await start({ drivers: [counting] });
    await of.leakImage();

    await of.builder({ clock: { ...hurried(60_000, 300), steadyNow: () => lists * 60_000 } });
    await vi.waitFor(() => expect(listsAtDeletion).toHaveLength(1), WAIT);

    expect(listsAtDeletion[0]).toBeGreaterThan(5); // five minutes after the first one
  });

  it('stays if it is needed again while another image is being deleted', async () => {
    const fake = createFakeDriver();
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const slow: Driver = {
      ...fake,
      getProvider(config, context) {
        const deleteImage = () => released.then(() => Promise.reject(new Error('it is in use')));
        return Object.defineProperty<Provider>(fake.getProvider(config, context), 'deleteImage', {
          value: deleteImage,
        });
      },
    };
    const diskimages = DEBIAN + DEBIAN.replace('debian', 'other');
    const of = await start({ drivers: [slow], diskimages, images: ['debian', 'other'] });
    const builder = await of.builder();
    await settled(of, READY);
    await vi.waitFor(() => expect(of.states('other')).toEqual(READY), WAIT);

    await builder.reconfigure(await of.reload({ diskimages, images: [] }));
    const isDeleting = (name: string) => of.states(name).uploads.includes('sky deleting');
    const first = await vi.waitFor(() => {
      const found = ['debian', 'other'].find(isDeleting);
      if (found === undefined) throw new Error('no deletion has begun');
      return found;
    }, WAIT);
    const second = first === 'debian' ? 'other' : 'debian';
    await builder.reconfigure(await of.reload({ diskimages, images: [second] }));
    release();
    await vi.waitFor(() => expect(builder.failingDeletions[0]?.name).toContain(first), WAIT);
    await builder.drain(10_000);

    expect(of.states(second).uploads).toEqual(['sky ready']);
  });

  it('that cannot be deleted does not delay other deletions', async () => {
    const fake = createFakeDriver();
    let stubborn = '';
    const picky: Driver = {
      ...fake,
      getProvider(config, context) {
        const provider = fake.getProvider(config, context);
        const deleteImage = provider.deleteImage?.bind(provider);
        return Object.defineProperty<Provider>(provider, 'deleteImage', {
          value: (id: string, signal: AbortSignal) =>
            id === stubborn ? Promise.reject(new Error('it is in use')) : deleteImage?.(id, signal),
        });
      },
    };
    const of = await start({ drivers: [picky] });
    await of.leakImage();
    stubborn = of.cloud.cloud.images()[0]?.id ?? '';
    await of.leakImage();
    const builder = await of.builder({ clock: hurried(60_000, 300) });
    await settled(of, READY);

    await vi.waitFor(async () => expect(await of.cloudImages()).toHaveLength(2), WAIT);
    expect((await of.cloudImages()).map(({ externalId }) => externalId)).toContain(stubborn);
    const leaked = { type: 'ResourcesLeaked', reason: 'DeletionFails', name: 'sky' };
    expect(builderConditions(builder, 'nb01', Date.now())).toMatchObject([leaked]);
  });

  it('gets the id of the database when a record of a builder that wrote none has it', async () => {
    const of = await start();
    await of.leakImage({ nodepool_database_id: undefined });
    const [image] = await of.cloudImages();
    const key = { image: 'debian', buildId: 'f'.repeat(32), provider: 'sky', id: '0000000007' };
    const fields = { state: 'ready', externalId: image?.externalId ?? null, externalName: 'leaked' } as const;
    const build = newBuild({ image: key.image, id: key.buildId }, { state: 'ready', formats: ['qcow2'] }, 0);
    const path = uploadPath(key.image, key.buildId, key.provider, key.id);
    await of.zk.ensurePath(path);
    await of.zk.setData(path, encodeUpload(newUpload(key, fields, Date.now())));
    await of.zk.setData(buildPath(key.image, key.buildId), encodeBuild(build));

    const builder = await of.builder({ clock: hurried(60_000, 300) });

    const marked = async () => (await of.cloudImages()).find(({ name }) => name === 'leaked')?.metadata;
    await vi.waitFor(
      async () => expect(await marked()).toMatchObject({ nodepool_database_id: builder.databaseId }),
      WAIT,
    );
    expect(builder.unrecorded?.alienResources()).toEqual([]);
  });

  it.each([
    ['without an id of a database', undefined],
    ['with the id of another database', 'f'.repeat(32)],
  ])('stays in the cloud %s, and is reported', async (_what, databaseId) => {
    const of = await start();
    await of.leakImage({ nodepool_database_id: databaseId });
    await of.leakImage();
    const builder = await of.builder({ clock: hurried(60_000, 300) });
    await settled(of, READY);
    const leaked = async () => (await of.cloudImages()).filter(({ name }) => name === 'leaked');

    await vi.waitFor(async () => expect(await leaked()).toHaveLength(1), WAIT); // the one of this database is gone

    expect((await leaked())[0]?.metadata['nodepool_database_id']).toBe(databaseId);
    expect(of.said.join()).toContain('see "nodepool adopt sky"');
    expect(builder.unrecorded?.alienResources()).toMatchObject([
      { provider: 'sky', type: 'image', name: 'leaked', databaseId },
    ]);
    const type = databaseId === undefined ? 'ResourcesWithoutProof' : 'ResourcesOfOtherDatabase';
    expect(builderConditions(builder, 'nb01', Date.now())).toMatchObject([{ kind: 'provider', name: 'sky', type }]);
  });
});
