import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '@nodepool/test-servers';
import { Container } from '../packed/container.js';
import { readDockerfile, type ImageRecipe } from '../packed/dockerfile.js';
import { npm, packPackages, root } from '../packed/packages.js';
import { startRegistry, type Registry } from '../packed/registry.js';

/** Long enough for npm to download packages. */
const LIMIT_MS = 300_000;
/** What the image waits for, before the limit ends the test without a word of what it printed. */
const READY_MS = 280_000;
/** The one that its configuration names: each driver costs npm seconds, and `contrib.test.ts` knows the others. */
const DRIVER = 'driver-static';

let folder: string;
let registry: Registry;
let recipe: ImageRecipe;
let container: Container | undefined;
let port: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodepool-image-'));
  registry = await startRegistry(join(folder, 'registry'));
  recipe = readDockerfile(await readFile(join(root, 'contrib/docker/Dockerfile'), 'utf8'));
  [port = 0] = await freePorts(1);
  await publish();
}, LIMIT_MS);

afterAll(async () => {
  await container?.kill();
  await registry.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Publishes the packages that the image installs to the local registry. */
async function publish(): Promise<void> {
  const npmrc = join(folder, 'npmrc');
  await writeFile(npmrc, registry.npmrc);
  const tarballs = await packPackages(['launcher', 'cli', DRIVER], join(folder, 'packed'));
  for (const tarball of tarballs.values())
    await npm(folder, 'publish', '--userconfig', npmrc, '--ignore-scripts', tarball);
}

async function writeConfig(): Promise<string> {
  const etc = join(folder, 'etc');
  await mkdir(etc);
  const node = { name: 'fake-host', labels: ['small'], 'host-key-checking': false };
  const rack = { name: 'rack', driver: 'static', pools: [{ name: 'main', nodes: [node] }] };
  const webapp = { port, listen_address: '127.0.0.1' };
  await writeFile(
    join(etc, 'nodepool.yaml'),
    JSON.stringify({ webapp, labels: [{ name: 'small' }], providers: [rack] }),
  );
  return etc;
}

async function startContainer(): Promise<Container> {
  const volume = join(folder, 'volume');
  await mkdir(volume);
  const userconfig = join(folder, 'build-npmrc');
  await writeFile(userconfig, `${await ownNpmrc()}\n${registry.npmrc}`);
  return Container.start({
    ...{ folder: join(folder, 'container'), recipe, args: { DRIVERS: `@nodepool/${DRIVER}` } },
    buildEnv: { npm_config_userconfig: userconfig, npm_config_prefer_offline: 'true' },
    mounts: { '/var/lib/nodepool': volume, '/etc/nodepool': await writeConfig() },
  });
}

/** The user's npm configuration, for packages that the local registry lacks. */
function ownNpmrc(): Promise<string> {
  const file = process.env['npm_config_userconfig'] ?? join(process.env['HOME'] ?? '/root', '.npmrc');
  return readFile(file, 'utf8').catch(() => '');
}

it(
  'the Docker image builds, runs without privileges on a read-only file system, serves requests, and drains',
  { timeout: LIMIT_MS },
  async () => {
    expect(recipe.from).toMatch(/^node:2\d-/);
    expect([recipe.ports, recipe.volumes, recipe.stopSignal]).toEqual([[8005], ['/var/lib/nodepool'], 'SIGTERM']);
    const image = (container = await startContainer());
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/ready`)
        .then(({ ok }) => ok)
        .catch(() => false);

    const over = 'ready, or ended';
    await expect
      .poll(async () => ((await isReady()) || image.hasEnded ? over : image.output), {
        timeout: READY_MS,
        interval: 250,
      })
      .toBe(over);
    expect(await isReady(), image.output).toBe(true);

    const status = await image.status('status');
    expect(/^Uid:\s+(\d+)\s+(\d+)/m.exec(status)?.slice(1)).toEqual(['10001', '10001']);
    expect(await image.status('mountinfo')).toMatch(/^\d+ \d+ \S+ \/ \/ ro[, ]/m);
    await expect(image.exec('touch', '/usr/here')).rejects.toThrow('Read-only file system');
    await expect(image.exec('touch', '/etc/nodepool/here')).rejects.toThrow('Read-only file system');
    const healthcheck = recipe.healthcheck.map((word) => word.replace('8005', String(port)));
    await image.exec(...healthcheck);
    expect(await image.exec('nodepool', 'run', 'small', '--', 'echo', 'used')).toContain('used');

    expect(await image.stop()).toBe(0);
    expect(image.output).toContain('Stopping; a second signal exits immediately');
  },
);
