import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  imageBuildLockPath,
  imageBuildRequestPath,
  requestBuild,
  type BuildRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { describe, expect, it, vi } from 'vitest';
import { debian, logs, newGate, WAIT } from '../../test/support/builds.js';
import type { Builder } from '../index.js';
import { useWorld } from '../../test/support/use-world.js';
import { MAKE_IMAGE, type World } from '../../test/support/world.js';
import { processesOf } from '../tool/leftovers.js';

const startWorld = useWorld();
const start = (env: Readonly<Record<string, string>> = {}, more = '') => startWorld({ diskimages: debian(env, more) });

async function failure(of: World): Promise<BuildRecord> {
  return vi.waitFor(() => {
    const build = of.lastBuild('debian');
    if (build?.state !== 'failed') throw new Error(`not failed: ${build?.state ?? 'no build'}`);
    return build;
  }, WAIT);
}

describe('a build that was requested', () => {
  it('is followed by another one when it is requested again while it runs', async () => {
    const gate = newGate();
    const of = await start({ WAIT_FOR: gate });
    await requestBuild(of.zk, 'debian');
    await of.builder();
    await vi.waitFor(() => expect(of.lastBuild('debian')?.state).toBe('building'), WAIT);

    await requestBuild(of.zk, 'debian');
    await writeFile(gate, '');

    await vi.waitFor(async () => expect(await of.zk.exists(imageBuildRequestPath('debian'))).toBeUndefined(), WAIT);
    expect(of.happened.filter((what) => what.startsWith('built'))).toEqual(Array(2).fill('built debian 0'));
    const bytes = expect.any(Number) as number;
    const figures = { build_reason: 'requested', duration: bytes, files: { qcow2: { bytes } } };
    await vi.waitFor(() => expect(of.lastBuild('debian')?.raw).toMatchObject(figures), WAIT);
  });

  it('is made as configured when it was requested, though an earlier request had been seen before', async () => {
    const of = await start({ FAIL: '3' });
    await requestBuild(of.zk, 'debian');
    const zk = slowToLock(await of.connect(), async () => {
      await (await starting).reconfigure(await of.reload({ diskimages: debian() }));
      await requestBuild(of.zk, 'debian');
    });

    const starting: Promise<Builder> = of.builder({ zk });

    await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
    expect(of.happened.filter((what) => what.startsWith('built'))).toEqual(['built debian 0']);
  });
});

/** Waits before it takes the lock of the image. */
function slowToLock(zk: ZooKeeper, wait: () => Promise<unknown>): ZooKeeper {
  const create: ZooKeeper['create'] = async (path, ...rest) => {
    if (path.startsWith(imageBuildLockPath('debian'))) await wait();
    return zk.create(path, ...rest);
  };
  return new Proxy(zk, {
    get(target, name) {
      if (name === 'create') return create;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('a build that fails', () => {
  it('stays to be looked at with the reason and the last words of the tool, and waits longer each time', async () => {
    const of = await start({ FAIL: '3' });
    const builder = await of.builder();

    const { raw } = await failure(of);

    expect(raw['error']).toMatch(/^root.d\/10-base failed with exit code 3: element x: no such package$/);
    expect(raw).toMatchObject({ build_reason: 'no ready build', duration: expect.any(Number) as number });
    expect(of.said).toContain('error Build failed; the images in service stay: no ready build');
    expect(await of.files()).toEqual([]);
    expect((await logs(of)).join()).toMatch(/Exit code: 3\n$/);
    await vi.waitFor(
      () => expect(builder.status('debian')).toEqual({ waits: expect.stringMatching(/next try in \d+ s/) as string }),
      WAIT,
    );

    await of.zk.create(imageBuildRequestPath('debian'));
    await vi.waitFor(() => expect(of.happened).toEqual(['built debian 3', 'built debian 3']), WAIT);
    expect(await of.zk.exists(imageBuildRequestPath('debian'))).toBeDefined();
    await vi.waitFor(
      () =>
        expect(builder.work).toMatchObject([
          { image: 'debian', phase: 'waiting', error: expect.stringMatching(/such package .*next try in/) as string },
        ]),
      WAIT,
    );

    await requestBuild(of.zk, 'debian'); // while the request before waits
    await vi.waitFor(() => expect(of.happened).toEqual(Array(3).fill('built debian 3')), WAIT);
  });

  it.each([
    [
      'no such program',
      {},
      '',
      /no-such-tool: (?:No such file|not found)|could not be run: .*no-such-tool/,
      '/no-such-tool',
    ],
    ['an empty image', { EMPTY: '1' }, '', /its qcow2 file is empty/, undefined],
    [
      'too slow and silent',
      { WAIT_FOR: '/nowhere/at/all' },
      '  build-timeout: 1\n',
      /not finished within build-timeout \(1 s\)/,
      undefined,
    ],
  ])('because of %s says so', async (_what, env, more, reason, tool) => {
    const world = await startWorld({
      diskimages: debian(env, more).replace(MAKE_IMAGE, tool ?? MAKE_IMAGE),
      builder: { env: { ...process.env, PATH: '/usr/bin:/bin:/usr/sbin:/sbin' } },
    });
    await world.builder();

    expect((await failure(world)).raw['error']).toMatch(reason);
    expect(await world.files()).toEqual([]);
    expect((await readdir(world.dir)).filter((name) => name.startsWith('nodepool-builder-'))).toHaveLength(1);
  });

  it('takes along what has left its process group', async () => {
    const of = await start({ LEAVE: '1', FAIL: '1' });
    const builder = await of.builder();
    await failure(of);

    const tmpRoot = join(of.dir, `nodepool-builder-${builder.id ?? ''}`);
    await vi.waitFor(async () => expect(await readdir(tmpRoot)).toEqual([]), WAIT);
    const { id } = await failure(of);
    expect(await processesOf(join(tmpRoot, id))).toEqual([]);
  });
});
