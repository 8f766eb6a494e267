import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { requestBuild, systemClock, type Clock } from '@nodepool/zk-protocol';
import { ensureDebianPackages } from '@nodepool/test-servers';
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

/** A clock on which waits of one length are short. */
const hurried = (longMs: number, ms: number): Clock => ({
  now: () => systemClock.now(),
  setTimer: (wanted, fire) => systemClock.setTimer(wanted === longMs ? ms : wanted, fire),
});

describe('several builders on one ZooKeeper', () => {
  it('build an image once, and upload what they have on their disks', async () => {
    const of = await start();
    await mkdir(join(of.dir, 'images2'));
    const other = { imagesDir: join(of.dir, 'images2'), hostname: 'nb02.example.com' };
    const builders = await Promise.all([of.builder(), of.builder(other)]);
    await settled(of, READY);

    // both have seen all records, and any work they started has ended
    for (const builder of builders) {
      await vi.waitFor(() => expect(builder.status('debian')).toEqual({ waits: 'the newest build is recent' }), WAIT);
      await builder.drain(10_000);
      await builder.join();
    }

    expect(of.states('debian')).toEqual(READY);
    expect(of.happened.filter((text) => text.startsWith('built'))).toEqual(['built debian 0']);
    expect(await of.cloudImages()).toHaveLength(1);
    const sides = await Promise.all([of.files(), readdir(join(of.dir, 'images2'))]);
    expect(sides.filter((names) => names.some((name) => name.endsWith('.qcow2')))).toHaveLength(1);
  });

  it('name images as str.format of Python does', async () => {
    const of = await start({ sky: "image-name-format: 'ci-{image_name:.3}-{upload_id!r:>12}'\n" });
    await of.builder();
    await settled(of, READY);

    expect((await of.cloudImages()).map(({ name }) => name)).toEqual(["ci-deb-'0000000001'"]);
  });

  it('with one id are refused, and the other one is named', async () => {
    const of = await start();
    await of.builder();

    await expect(of.builder({ clock: hurried(40_000, 50), hostname: 'nb02.example.com' })).rejects.toThrow(
      /a builder with the same id runs: nb01\.example\.com \(process \d+\)/,
    );
  });

  it('with one id are refused although the session of the other one has ended', async () => {
    const of = await start();
    const first = await of.builder();
    const root = `/nodepool/builder-ids/${first.id}`;
    const entries = () => of.zk.getChildren(root);
    const [lost = ''] = await entries();

    await of.zk.delete(`${root}/${lost}`); // as when the session ends
    await vi.waitFor(async () => expect(await entries()).toHaveLength(1), WAIT);

    expect(await entries()).not.toContain(lost);
    await vi.waitFor(() => expect(first.notReady).toEqual([]), WAIT);
    await expect(of.builder({ clock: hurried(40_000, 50), hostname: 'nb02.example.com' })).rejects.toThrow(
      /a builder with the same id runs: nb01/,
    );
  });

  it('build only what they are meant to', async () => {
    const of = await start({ diskimages: `${DEBIAN}  builders: [nb02]\n` });
    const first = await of.builder();
    await vi.waitFor(() => expect(first.status('debian')).toEqual({ waits: 'left to other builders' }), WAIT);
    await mkdir(join(of.dir, 'images2'));

    await of.builder({ imagesDir: join(of.dir, 'images2'), hostname: 'nb02.example.com' });

    await settled(of, READY);
    expect(await of.files()).toEqual([]);
  });
});

describe('an upload', () => {
  async function hook(of: World, text: string): Promise<void> {
    await writeFile(join(of.dir, 'hook.sh'), `#!/bin/sh\n${text}\n`);
    await chmod(join(of.dir, 'hook.sh'), 0o755);
  }

  it('that the hook refuses leaves nothing in the cloud, and is tried again', async () => {
    const of = await start();
    await hook(of, `echo "$@" >> ${of.dir}/hook.log; [ -e ${of.dir}/good ] || { echo bad image; exit 9; }`);
    of.config = await of.reload({ diskimages: DEBIAN, sky: `post-upload-hook: ${of.dir}/hook.sh` });
    const builder = await of.builder();
    await vi.waitFor(async () => expect(await readdir(of.dir)).toContain('hook.log'), WAIT);
    await vi.waitFor(() => expect(builder.running.uploads).toEqual([]), WAIT);
    expect(await of.cloudImages()).toEqual([]);
    await vi.waitFor(() => expect(builder.work.map(({ phase }) => phase)).toEqual(['waiting']), WAIT);
    expect(builder.work[0]).toMatchObject({
      image: 'debian',
      provider: 'sky',
      buildId: expect.stringMatching(/^\w{32}$/) as string,
    });
    const next =
      /exit code 9.* \((2 times, )?next try in 00:00:00:\d\d; at once with "nodepool image-build debian"\)$/s;
    expect(builder.work[0]?.error).toMatch(next);

    await writeFile(join(of.dir, 'good'), '');
    await builder.reconfigure(of.config);

    await settled(of, READY);
    expect(await of.cloudImages()).toHaveLength(1);
  });

  // Ends: UploadFails Error
  it('that failed is tried again at once when a build of the image is requested', async () => {
    const of = await start();
    await hook(of, `[ -e ${of.dir}/good ]`);
    of.config = await of.reload({ diskimages: DEBIAN, sky: `post-upload-hook: ${of.dir}/hook.sh` });
    const builder = await of.builder({ clock: { ...systemClock, steadyNow: () => 0 } }); // no pause ends by itself
    const conditions = () => builderConditions(builder, 'nb01', Date.now());
    await vi.waitFor(() => expect(conditions()).toMatchObject([{ type: 'UploadFails', reason: 'Error' }]), WAIT);
    expect(conditions()[0]?.nextStep).toContain('at once with nodepool image-build debian');

    await writeFile(join(of.dir, 'good'), '');
    await requestBuild(of.zk, 'debian');

    await vi.waitFor(() => expect(of.happened).toContain('uploaded debian sky'), WAIT);
    await vi.waitFor(() => expect(conditions()).toEqual([]), WAIT);
  });

  it("succeeds with a hook that accepts it, and logs the hook's output without secrets", async () => {
    const of = await start();
    await hook(of, `echo "$3" >&2; echo shared with "$MY_TOKEN"`);
    await of.reload({ diskimages: DEBIAN, sky: `post-upload-hook: ${of.dir}/hook.sh` });
    await of.builder({ env: { ...process.env, MY_TOKEN: 't0ken' } });

    await settled(of, READY);
    const [said = ''] = of.said.filter((text) => text.startsWith('info Post-upload hook succeeded'));
    expect(said).toContain('shared with ********');
    expect(said).toMatch(/debian-[0-9a-f]{32}\.qcow2/);
  });

  it('is not made while the image is paused for the provider', async () => {
    const of = await start({ provider: 'pause: true' });
    const builder = await of.builder();
    await settled(of, { builds: ['ready'], uploads: [] });

    await builder.reconfigure(await of.reload({ diskimages: DEBIAN }));

    await settled(of, READY);
  });

  it('of a format that was not built is made by conversion', async () => {
    await ensureDebianPackages(['qemu-utils']);
    const of = await start({ diskimages: `${DEBIAN}  env-vars: {QEMU: "1"}\n` });
    const builder = await of.builder();
    await settled(of, READY);
    const [build] = [...(of.tree.images.get('debian')?.builds.values() ?? [])];

    const { convertImage } = await import('./convert-image.js');
    const parts = { zk: of.zk, imagesDir: of.imagesDir, clock: systemClock, env: process.env, sandbox: [] };
    if (!build) throw new Error('no build');
    const planned = { provider: 'sky', build, format: 'raw', convertFrom: 'qcow2' };
    const theirs = join(of.dir, 'theirs');
    await symlink(theirs, join(of.imagesDir, `debian-${build.id}.raw.md5`));
    await convertImage(parts, planned, AbortSignal.timeout(50_000));

    const names = (await of.files()).filter((name) => name.includes('.raw')).map((name) => name.replace(/^[^.]*/, ''));
    expect(names.sort()).toEqual(['.raw', '.raw.md5', '.raw.sha256']);
    await expect(stat(theirs)).rejects.toMatchObject({ code: 'ENOENT' });
    const files = () => of.lastBuild('debian')?.raw['files'];
    await vi.waitFor(() => expect(files()).toMatchObject({ raw: { bytes: 1_048_576 }, qcow2: {} }), WAIT);
    await writeFile(join(of.imagesDir, `debian-${build.id}.vpc`), 'no image');
    await expect(
      convertImage(parts, { ...planned, convertFrom: 'vpc', format: 'vhdx' }, AbortSignal.timeout(50_000)),
    ).rejects.toMatchObject({ code: 'NODEPOOL_CONVERT' });
    expect((await of.files()).filter((name) => name.includes('converting'))).toEqual([]);
    await writeFile(join(of.imagesDir, `debian-${build.id}.qcow2`), 'damaged');
    await expect(convertImage(parts, { ...planned, format: 'vdi' }, AbortSignal.timeout(50_000))).rejects.toMatchObject(
      { code: 'NODEPOOL_IMAGE_FILE' },
    );
    expect((await of.files()).filter((name) => name.includes('.vdi'))).toEqual([]);
    expect(builder.failingDeletions).toEqual([]);
  });
});
