// User interface of a builder: its web server, and the commands in separate processes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { componentPath, componentsPath, decodeComponent } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Processes } from './support/processes.js';
import { MAKE_IMAGE, World } from './support/world.js';

const NODEPOOL = fileURLToPath(new URL('../../cli/bin/nodepool.js', import.meta.url));
const WAIT = { timeout: 60_000, interval: 50 };
const LIMITS = { timeout: 180_000 };

let world: World | undefined;
const processes = new Processes();

afterEach(async () => {
  await processes.end();
  await world?.end();
  world = undefined;
});

const TOKEN = 'a-token-that-is-hard-to-guess';
const TOKENS = `api-tokens: [{name: alice, token: ${TOKEN}}]\n`;

/** Starts a builder in a separate process. Its builds wait for the file `gate`. */
async function start(cloud = '', secure = TOKENS, others = ''): Promise<World> {
  const gate = '/proc/self/cwd/gate';
  const of = (world = await World.start({
    diskimages: `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n  env-vars: {WAIT_FOR: ${gate}}\n${others}`,
    top: 'builder-webapp: {port: 0}',
    cloud,
  }));
  const secureFile = join(of.dir, 'secure.yaml');
  await writeFile(secureFile, secure);
  await processes.webBuilder(of, '-s', secureFile);
  return of;
}

interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `nodepool` until it exits. */
const nodepool = (of: World, ...args: string[]): Promise<Said> => runNodepool(join(of.dir, 'process.yaml'), ...args);

/** Runs `nodepool` with a token on a machine without the builder's files. */
const nodepoolElsewhere = (of: World, ...args: string[]): Promise<Said> =>
  nodepoolWith(join(of.dir, 'secure.yaml'), of, ...args);

/** The same with another secure file, or none. */
async function nodepoolWith(secure: string | undefined, of: World, ...args: string[]): Promise<Said> {
  const file = join(of.dir, 'elsewhere.yaml');
  const text = await readFile(join(of.dir, 'process.yaml'), 'utf8');
  await writeFile(file, text.replace(/^build-log-dir: .*$/m, `build-log-dir: ${of.dir}/none`));
  return runNodepool(file, ...(secure === undefined ? [] : ['-s', secure]), ...args);
}

async function runNodepool(file: string, ...args: string[]): Promise<Said> {
  return startNodepool(file, ...args).ended;
}

function startNodepool(file: string, ...args: string[]) {
  const said = { stdout: '', stderr: '' };
  const child = spawn(process.execPath, [NODEPOOL, '-c', file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  processes.add(child);
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (said[name] += text));
  }
  const ended = once(child, 'close').then((): Said => ({ code: child.exitCode, ...said }));
  return { said, ended };
}

/** Waits until the builder logs the address of its web server. */
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

describe('a busy builder', () => {
  it('shows its progress on the web and in image-status', LIMITS, async () => {
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

  it('show the log of a build on another machine, and the duration of the last build', LIMITS, async () => {
    const of = await start();
    await webUrl(of);
    await writeFile(join(of.dir, 'gate'), '');
    await ready(of);
    const first = of.lastBuild('debian')?.id ?? '';
    await rm(join(of.dir, 'gate'));

    const followed = nodepoolElsewhere(of, 'image-build', 'debian', '--follow');
    const { id } = await building(of);
    const tailed = nodepoolElsewhere(of, 'image-log', 'debian', '--follow');
    await writeFile(join(of.dir, 'gate'), '');

    for (const { code, stdout } of await Promise.all([followed, tailed])) {
      expect(stdout).toMatch(
        /^2026-.*\nelements: vm; release: 12; image: debian\nBuild completed successfully\nExit code: 0\n$/,
      );
      expect(code).toBe(0);
    }
    expect((await followed).stderr).toMatch(
      new RegExp(`Build ${id} of debian has started on \\S+; the last one took 00:00:`),
    );
    const earlier = await nodepoolElsewhere(of, 'image-log', `debian-${first}`);
    expect(earlier).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit code: 0') as string });
    const none = await nodepoolElsewhere(of, 'image-log', 'nothing');
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('no builder has a build of it') as string });
  });

  it('show no log of a build on another machine if the builder has no tokens', LIMITS, async () => {
    const of = await start('', '{}\n');
    await webUrl(of);
    await writeFile(join(of.dir, 'gate'), '');
    await ready(of);

    const { code, stderr } = await nodepoolWith(undefined, of, 'image-log', 'debian');

    expect(code).toBe(1);
    expect(stderr).toContain('refuses: it shows this only with a token; put api-tokens into its secure file');
    expect((await nodepool(of, 'image-log', 'debian')).code).toBe(0);
  });

  it('show the log of a build on another machine only with a token', LIMITS, async () => {
    const of = await start();
    await webUrl(of);
    await writeFile(join(of.dir, 'gate'), '');
    await ready(of);
    const wrong = join(of.dir, 'wrong.yaml');
    await writeFile(wrong, 'api-tokens: [{name: bob, token: some-other-token-of-bob}]\n');

    const refused = await nodepoolWith(undefined, of, 'image-log', 'debian');
    const bob = await nodepoolWith(wrong, of, 'image-log', 'debian');
    const alice = await nodepoolElsewhere(of, 'image-log', 'debian');

    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('demands a token: name a secure file with api-tokens (-s)');
    expect(bob).toMatchObject({ code: 1, stdout: '' });
    expect(bob.stderr).toContain('is not among those of the builder');
    expect(alice).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit code: 0') as string });
  });

  it('image-status and image-build --follow explain why a build does not start', LIMITS, async () => {
    const ubuntu = `- name: ubuntu\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  formats: [raw]\n`;
    const of = await start('', TOKENS, ubuntu);
    await webUrl(of);
    await building(of);

    const followed = startNodepool(join(of.dir, 'process.yaml'), 'image-build', 'ubuntu', '--follow');
    const why = /ubuntu: a build cannot begin on [^:]+(?:, for \S+)?: the only build worker is busy with debian/;
    await vi.waitFor(async () => expect((await nodepool(of, 'image-status')).stderr).toMatch(why), WAIT);
    await vi.waitFor(() => expect(followed.said.stderr).toMatch(why), WAIT);
    await writeFile(join(of.dir, 'gate'), '');

    expect(await followed.ended).toMatchObject({ code: 0 });
  });

  it('alien-image-list shows images tagged with a build that has no record', LIMITS, async () => {
    const of = await start();
    await writeFile(join(of.dir, 'gate'), '');
    await ready(of);
    await of.leakImage();
    const file = join(of.dir, 'process.yaml');
    const sibling = `  - name: sea\n    driver: fake\n    cloud-settings: {state-dir: ${of.dir}/cloud, upload-images: true}\n`;
    await writeFile(file, `${await readFile(file, 'utf8')}${sibling}    diskimages: []\n    pools: []\n`);

    const { code, stdout } = await nodepool(of, 'alien-image-list');

    expect(code).toBe(0);
    expect(stdout).toMatch(/\| sky +\| leaked +\|/);
    expect(stdout.match(/image-/g)).toHaveLength(1);
  });
});
