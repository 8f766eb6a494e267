// What people and programs see of a builder: its web server, and the commands, each a process of its own.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { componentPath, componentsPath, decodeComponent } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MAKE_IMAGE, World } from './support/world.js';

const BUILDER = fileURLToPath(new URL('../bin/nodepool-builder.js', import.meta.url));
const NODEPOOL = fileURLToPath(new URL('../../cli/bin/nodepool.js', import.meta.url));
const WAIT = { timeout: 60_000, interval: 50 };
const LIMITS = { timeout: 180_000 };

let world: World | undefined;
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  await world?.end();
  world = undefined;
});

/** A builder in a process of its own, whose builds wait for a file `gate`. */
async function start(cloud = ''): Promise<World> {
  const gate = '/proc/self/cwd/gate';
  const of = (world = await World.start({
    diskimages: `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n  env-vars: {WAIT_FOR: ${gate}}\n`,
    top: 'webapp: {port: 0, listen_address: 127.0.0.1}',
    cloud,
  }));
  const args = [BUILDER, '-f', '-c', await of.processConfig(), '--drain-timeout', '10'];
  const env = { ...process.env, TMPDIR: of.dir };
  children.push(spawn(process.execPath, args, { stdio: 'ignore', cwd: of.dir, env }));
  return of;
}

/** Runs `nodepool` to its end. */
async function nodepool(
  of: World,
  ...args: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const said = { stdout: '', stderr: '' };
  const child = spawn(process.execPath, [NODEPOOL, '-c', join(of.dir, 'process.yaml'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (said[name] += text));
  }
  await once(child, 'close');
  return { code: child.exitCode, ...said };
}

/** Where the builder says that it answers the web. */
const webUrl = (of: World): Promise<string> =>
  vi.waitFor(async () => {
    for (const id of await of.zk.getChildren(componentsPath('builder'))) {
      const { data, stat } = await of.zk.getData(componentPath('builder', id));
      const url = decodeComponent('builder', id, data, stat)?.webUrl;
      if (url) return url;
    }
    throw new Error('no builder tells its address');
  }, WAIT);

async function get(url: string, path: string, accept: string): Promise<string> {
  const response = await fetch(new URL(path, url), { headers: { accept } });
  expect(response.status).toBe(200);
  return response.text();
}

const building = (of: World) =>
  vi.waitFor(() => {
    const build = of.lastBuild('debian');
    if (build?.state !== 'building') throw new Error('not building');
    return build;
  }, WAIT);

const ready = (of: World) =>
  vi.waitFor(() => expect(of.states('debian')).toEqual({ builds: ['ready'], uploads: ['sky ready'] }), WAIT);

describe('a builder at work', () => {
  it('shows how far it is, on the web and in image-status', LIMITS, async () => {
    const of = await start('upload-time: 3600');
    const url = await webUrl(of);
    const { id } = await building(of);

    await vi.waitFor(async () => {
      const [work] = JSON.parse(await get(url, '/image-work', 'application/json')) as Record<string, unknown>[];
      expect(work).toMatchObject({ image: 'debian', work: 'build', build_id: id, provider: null, phase: 'root' });
    }, WAIT);
    const table = await nodepool(of, 'image-status');
    expect(table.stdout).toContain('| debian | False');
    expect(table.stderr).toMatch(/^debian: building on \S+ for 00:00:\d\d:\d\d, phase root$/m);
    const json = JSON.parse((await nodepool(of, 'image-status', '--format', 'json')).stdout) as unknown;
    expect(json).toMatchObject([{ image: 'debian', progress: [expect.stringMatching(/^building on /)] }]);

    await writeFile(join(of.dir, 'gate'), '');

    await vi.waitFor(async () => {
      const [work] = JSON.parse(await get(url, '/image-work', 'application/json')) as Record<string, unknown>[];
      expect(work).toMatchObject({ image: 'debian', work: 'upload', provider: 'sky', phase: 'uploading' });
    }, WAIT);
  });

  it('lists builds and uploads as text and JSON, with fields', LIMITS, async () => {
    const of = await start();
    const url = await webUrl(of);
    await writeFile(join(of.dir, 'gate'), '');
    await ready(of);
    const { id } = of.lastBuild('debian') ?? {};

    await vi.waitFor(async () => {
      const builds = JSON.parse(await get(url, '/dib-image-list', 'application/json')) as unknown;
      expect(builds).toMatchObject([{ image: 'debian', state: 'ready', formats: ['qcow2'] }]);
      const uploads = JSON.parse(await get(url, '/image-list', 'application/json')) as unknown;
      expect(uploads).toMatchObject([{ image: 'debian', id, provider: 'sky', state: 'ready' }]);
    }, WAIT);
    const text = await get(url, '/image-list?fields=image,provider,state', 'text/plain');
    expect(text).toMatch(/\| Provider \| Image +\| State \|/);
    expect(text).toMatch(/\| sky +\| debian +\| ready \|/);
    expect(await get(url, '/ready', 'text/plain')).toBeDefined();
  });
});

describe('the commands', () => {
  it('image-log --follow shows the log of a build to its end', LIMITS, async () => {
    const of = await start();
    const { id } = await building(of);
    const followed = nodepool(of, 'image-log', 'debian', '--follow');
    await writeFile(join(of.dir, 'gate'), '');

    const { code, stdout } = await followed;

    expect(stdout).toContain('elements: vm; release: 12; image: debian');
    expect(stdout).toMatch(/Build completed successfully\nExit code: 0\n$/);
    expect(code).toBe(0);
    expect(of.lastBuild('debian')).toMatchObject({ id });
  });

  it('alien-image-list shows images with the tag of a build that no record speaks of', LIMITS, async () => {
    const of = await start();
    await writeFile(join(of.dir, 'gate'), '');
    await ready(of);
    await of.leakImage();

    const { code, stdout } = await nodepool(of, 'alien-image-list');

    expect(code).toBe(0);
    expect(stdout).toMatch(/\| sky +\| leaked +\|/);
    expect(stdout.match(/image-/g)).toHaveLength(1);
  });
});
