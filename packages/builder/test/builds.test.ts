import { randomUUID } from 'node:crypto';
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  buildPath,
  encodeBuild,
  imageBuildLockPath,
  imageBuildRequestPath,
  withBuild,
  type BuildRecord,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { processesOf } from '../src/tool/processes.js';
import { MAKE_IMAGE, World } from './support/world.js';

let world: World | undefined;
const WAIT = { timeout: 50_000, interval: 20 };

afterEach(async () => {
  await world?.end();
  world = undefined;
});

/** One image whose tool behaves as the variables say. */
const debian = (env: Readonly<Record<string, string>> = {}, more = '') =>
  `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n${more}` +
  `  env-vars:\n    X: x\n${Object.entries(env)
    .map(([name, value]) => `    ${name}: ${JSON.stringify(value)}\n`)
    .join('')}`;

async function start(env: Readonly<Record<string, string>> = {}, more = ''): Promise<World> {
  world = await World.start({ diskimages: debian(env, more) });
  return world;
}

async function failure(of: World): Promise<BuildRecord> {
  return vi.waitFor(() => {
    const build = of.lastBuild('debian');
    if (build?.state !== 'failed') throw new Error(`not failed: ${build?.state ?? 'no build'}`);
    return build;
  }, WAIT);
}

const logs = async (of: World) =>
  Promise.all((await readdir(join(of.dir, 'logs'))).map((name) => readFile(join(of.dir, 'logs', name), 'utf8')));

describe('a build that fails', () => {
  it('stays to be looked at with the reason and the last words of the tool, and waits longer each time', async () => {
    const of = await start({ FAIL: '3' });
    const builder = await of.builder();

    const { raw } = await failure(of);

    expect(raw['error']).toMatch(/^root.d\/10-base failed with exit code 3: element x: no such package$/);
    expect(await of.files()).toEqual([]);
    expect((await logs(of)).join()).toMatch(/Exit code: 3\n$/);
    await vi.waitFor(
      () => expect(builder.status('debian')).toEqual({ waits: expect.stringMatching(/next try in \d+ s/) as string }),
      WAIT,
    );

    await of.zk.create(imageBuildRequestPath('debian'));
    await vi.waitFor(() => expect(of.happened).toEqual(['built debian 3', 'built debian 3']), WAIT);
    expect(await of.zk.exists(imageBuildRequestPath('debian'))).toBeDefined();
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
    world = await World.start({
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

/** A file that a build waits for, which is outside the builder's own folders and gone after the test. */
function newGate(): string {
  const gate = join('/tmp', `builder-gate-${randomUUID()}`);
  onTestFinished(() => rm(gate, { force: true }));
  return gate;
}

describe('a build under way', () => {
  it('can be read in its log, with secrets masked', async () => {
    const gate = newGate();
    const SAY = 'password is pw12, mirror is http://user@mirror';
    const of = await start({ SAY, MY_PASSWORD: 'pw12', MIRROR: 'http://user@mirror', WAIT_FOR: gate });
    await of.builder();

    // The words of SAY are the value of a variable themselves.
    await vi.waitFor(async () => expect((await logs(of)).join()).toMatch(/^\*{8}$/m), WAIT);
    await writeFile(gate, '');
    await vi.waitFor(() => expect(of.lastBuild('debian')?.state).toBe('ready'), WAIT);
    expect((await logs(of)).join()).not.toMatch(/pw12|mirror/);
  });

  it('shows neither keys of several lines nor what the builder itself must keep secret', async () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg/kqhkiG9w0BA\n9w0==x\n-----END PRIVATE KEY-----\n';
    const own = {
      ...process.env,
      OS_PASSWORD: "os p'wd",
      GITHUB_TOKEN: 'ghp_1234',
      http_proxy: 'http://me:pr0xy@p:3128',
    };
    const of = await start({ SHOW: '1', DEPLOY: key });
    await of.builder({ env: own });

    await vi.waitFor(() => expect(of.lastBuild('debian')?.state).toBe('ready'), WAIT);
    const log = (await logs(of)).join();
    expect(log).toMatch(/^\+ : '?\*{8}/m);
    expect(log).not.toMatch(/MIIE|9w0|PRIVATE|pr0xy/);
    expect(log).not.toMatch(/OS_PASSWORD|os p|GITHUB_TOKEN|ghp_/);
    expect(log).toContain('http://me:********@p:3128');
  });

  it('hides a secret that a long line shows in two parts', async () => {
    const of = await start({ LONG: '1', DEPLOY: 'a-secret-word' });
    await of.builder();

    await vi.waitFor(() => expect(of.lastBuild('debian')?.state).toBe('ready'), WAIT);
    const log = (await logs(of)).join();
    expect(log.length).toBeGreaterThan(65_531);
    expect(log.replaceAll('********', '')).toMatch(/^x*$/m);
    expect(log).not.toMatch(/secret|a-s|word/);
  });

  it('makes files of images with the usual mask, whatever that of the builder, and keeps them from other users', async () => {
    const of = await start({ SHOW: '1', MANIFEST: '1' });
    const before = process.umask(0o027);
    onTestFinished(() => void process.umask(before));
    await of.builder();

    await vi.waitFor(() => expect(of.lastBuild('debian')?.state).toBe('ready'), WAIT);
    expect((await logs(of)).join()).toMatch(/^umask 0022$/m);
    const paths = [join(of.dir, 'logs'), of.imagesDir];
    const entries = await Promise.all(paths.map(async (path) => (await readdir(path)).map((name) => join(path, name))));
    const ofBuild = entries.flat().filter((path) => /debian-[0-9a-f]{32}/.test(path));
    expect(ofBuild).toHaveLength(5);
    for (const path of ofBuild) expect((await stat(path)).mode & 0o027, path).toBe(0);
  });

  /** Starts a build, takes the lock away as the end of a session does, does something, and lets the build end. */
  async function interrupted(meanwhile: (of: World, build: BuildRecord) => Promise<void>): Promise<World> {
    const gate = newGate();
    const of = await start({ WAIT_FOR: gate });
    await of.builder();
    const build = await vi.waitFor(() => {
      const found = of.lastBuild('debian');
      if (found?.state !== 'building') throw new Error('not building');
      return found;
    }, WAIT);
    const root = imageBuildLockPath('debian');
    await vi.waitFor(async () => expect(await logs(of)).toHaveLength(1), WAIT);
    for (const entry of await of.zk.getChildren(root)) await of.zk.delete(`${root}/${entry}`);
    await meanwhile(of, build);
    await vi.waitFor(async () => expect(await of.zk.getChildren(root)).toHaveLength(1), WAIT);
    await writeFile(gate, '');
    return of;
  }

  it('is registered again when others took it for dead and removed its record', async () => {
    const of = await interrupted((it, build) => it.zk.deleteRecursive(buildPath('debian', build.id)));

    await vi.waitFor(() => expect(of.states('debian')).toEqual({ builds: ['ready'], uploads: ['sky ready'] }), WAIT);
    expect(of.happened.filter((text) => text.startsWith('built'))).toEqual(['built debian 0']);
  });

  it('stays deleted when a person has deleted it meanwhile', async () => {
    let deleted = '';
    const of = await interrupted(async (it, build) => {
      deleted = build.id;
      const { stat } = await it.zk.getData(buildPath('debian', build.id));
      const body = encodeBuild(withBuild(build, { state: 'deleting' }, Date.now()));
      await it.zk.setData(buildPath('debian', build.id), body, stat.version);
    });

    await vi.waitFor(async () => expect(await of.zk.exists(buildPath('debian', deleted))).toBeUndefined(), WAIT);
    await vi.waitFor(() => expect(of.happened).toContain('built debian 0'), WAIT);
    await vi.waitFor(async () => expect((await of.files()).filter((name) => name.includes(deleted))).toEqual([]), WAIT);
    expect(of.happened).not.toContain('uploaded debian sky');
  });
});

describe('a builder that cannot work', () => {
  it('says which directory it cannot use', async () => {
    const of = await start();
    await writeFile(join(of.dir, 'file'), '');

    await expect(of.builder({ imagesDir: join(of.dir, 'file') })).rejects.toThrow(
      /images-dir ".*\/file" cannot be used/,
    );
    await expect(of.builder({ imagesDir: join(of.dir, 'nowhere') })).rejects.toThrow(/images-dir ".*" cannot be used/);
    await expect(of.builder({ buildLogDir: join(of.dir, 'file', 'logs') })).rejects.toThrow(
      /build-log-dir ".*\/file\/logs" cannot be made: .*; choose a directory that the builder may write to/,
    );
    await chmod(of.dir, 0o755);
  });
});
