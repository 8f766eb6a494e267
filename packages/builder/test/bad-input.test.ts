import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Driver, Provider } from '@nodepool/core';
import { createFakeDriver } from '@nodepool/driver-fake';
import { imageBuildRequestPath, imagePausePath, type BuildRecord } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { processesOf } from '../src/tool/leftovers.js';
import { MAKE_IMAGE, World, type WorldOptions } from './support/world.js';

let world: World | undefined;
const run = promisify(execFile);
const WAIT = { timeout: 50_000, interval: 20 };
const image = (more = '') => `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n${more}`;

afterEach(async () => {
  await world?.end();
  world = undefined;
});

async function start(options: Partial<WorldOptions> = {}): Promise<World> {
  world = await World.start({ diskimages: image(), ...options });
  return world;
}

const failedBuild = (of: World) =>
  vi.waitFor((): BuildRecord => {
    const build = of.lastBuild('debian');
    if (build?.state !== 'failed') throw new Error(`not failed: ${build?.state ?? 'no build'}`);
    return build;
  }, WAIT);

const ready = (of: World) =>
  vi.waitFor(() => expect(of.states('debian')).toEqual({ builds: ['ready'], uploads: ['sky ready'] }), WAIT);

const said = (of: World, text: RegExp) => vi.waitFor(() => expect(of.said.join('\n')).toMatch(text), WAIT);

describe('a directory that other users may have prepared', () => {
  const ID = '0a1b2c3d';

  it('is not used for temporary files, and the target of the link is kept', async () => {
    const of = await start();
    const [shared, victim] = [join(of.dir, 'shared'), join(of.dir, 'victim')];
    await Promise.all([mkdir(shared), mkdir(join(victim, 'data'), { recursive: true })]);
    await chmod(shared, 0o1777);
    await writeFile(join(of.imagesDir, 'builder_id.txt'), ID);
    await symlink(victim, join(shared, `nodepool-builder-${ID}`));

    await expect(of.builder({ tmpDir: shared })).rejects.toMatchObject({
      code: 'NODEPOOL_UNSAFE_DIRECTORY',
      message: expect.stringMatching(/is a link in a directory that every user may write to; .*TMPDIR/) as string,
    });

    expect(await readdir(victim)).toEqual(['data']);
  });

  it.each(['images', 'logs'])('is not used for %s', async (name) => {
    const of = await start();
    const open = join(of.dir, name);
    await mkdir(open, { recursive: true });
    await chmod(open, 0o777);

    await expect(of.builder()).rejects.toMatchObject({ code: 'NODEPOOL_UNSAFE_DIRECTORY' });

    expect(await readdir(open)).toEqual([]);
  });

  it('is accessible to this user only if the builder creates it', async () => {
    const of = await start();
    const { id = '' } = await of.builder();

    expect((await stat(join(of.dir, `nodepool-builder-${id}`))).mode & 0o777).toBe(0o700);
  });
});

describe('a build', () => {
  it('fails and reports the signal if its tool is killed', async () => {
    const of = await start({ diskimages: image('  env-vars: {WAIT_FOR: /nowhere/at/all}\n') });
    const builder = await of.builder();
    await vi.waitFor(() => expect(builder.running.builds).toMatchObject([{ phase: 'root' }]), WAIT);
    const tool = await vi.waitFor(async () => {
      const { id = '' } = of.lastBuild('debian') ?? {};
      const ids = await processesOf(join(of.dir, `nodepool-builder-${builder.id ?? ''}`, id));
      const lines = await Promise.all(
        ids.map(async (one) => [one, await readFile(`/proc/${one}/cmdline`, 'utf8')] as const),
      );
      const [found] = lines.find(([, line]) => line.startsWith('/bin/sh')) ?? [];
      if (found === undefined) throw new Error('the tool does not run');
      return found;
    }, WAIT);

    process.kill(tool, 'SIGKILL');

    expect((await failedBuild(of)).raw['error']).toMatch(
      /^the build tool was ended by SIGKILL in root.d\/10-base: Killed$/,
    );
    expect(await of.files()).toEqual([]);
  });

  it('succeeds with a warning if the permissions of its files cannot be changed', async () => {
    const of = await start({ diskimages: image('  env-vars: {IMMUTABLE: "1"}\n') });
    try {
      await of.builder();
      await ready(of);
      await said(of, /^warn Failed to restrict permissions of image files.*: EPERM/m);
    } finally {
      for (const name of await of.files()) await run('chattr', ['-i', join(of.imagesDir, name)]);
    }
  });

  it('without namespaces is removed completely: processes, then mounts, then files', async () => {
    const of = await start({ diskimages: image('  env-vars: {LEAVE: "1", MOUNT: "1", FAIL: "3"}\n') });
    const builder = await of.builder({ sandbox: [] });
    const { id } = await failedBuild(of);

    const tmpRoot = join(of.dir, `nodepool-builder-${builder.id ?? ''}`);
    await vi.waitFor(async () => {
      expect(await readdir(tmpRoot)).toEqual([]);
      expect(await of.mounts()).toEqual([]);
      expect(await processesOf(join(tmpRoot, id))).toEqual([]);
    }, WAIT);
  });
});

describe('a provider', () => {
  it('without image support is reported, and the build is kept', async () => {
    const fake = createFakeDriver();
    const broken: Driver = {
      ...fake,
      getProvider: (config, context) =>
        Object.defineProperty<Provider>(fake.getProvider(config, context), 'uploadImage', { value: undefined }),
    };
    const of = await start({ drivers: [broken] });
    await of.builder();

    await said(of, /error Upload failed: provider "sky" takes no images/);
    await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
  });
});

describe('a pause', () => {
  it('of the diskimage, of the provider or by an operator stops exactly its own work', async () => {
    const of = await start({ diskimages: image('  pause: true\n') });
    const builder = await of.builder();
    const waits = (why: string) => vi.waitFor(() => expect(builder.status('debian')).toEqual({ waits: why }), WAIT);
    await waits('paused in the configuration');

    await of.zk.ensurePath(imagePausePath('debian'));
    await of.zk.create(imageBuildRequestPath('debian'));
    await builder.reconfigure(await of.reload({ diskimages: image(), provider: 'pause: true' }));
    await waits('paused by a person');
    expect(of.states('debian')).toEqual({ builds: [], uploads: [] });

    await of.zk.delete(imagePausePath('debian'));
    await vi.waitFor(() => expect(of.states('debian')).toEqual({ builds: ['ready'], uploads: [] }), WAIT);
    await vi.waitFor(async () => expect(await of.zk.exists(imageBuildRequestPath('debian'))).toBeUndefined(), WAIT);
    await waits('the newest build is recent');
    expect(of.cloud.cloud.images()).toEqual([]);

    await builder.reconfigure(await of.reload({ diskimages: image() }));
    await ready(of);
  });
});
