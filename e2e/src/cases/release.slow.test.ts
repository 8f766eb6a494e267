import { execFile } from 'node:child_process';
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { satisfies } from 'semver';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Checkout, makeCheckout } from '../packed/checkout.js';
import { startInstalledLauncher } from '../packed/installed-launcher.js';
import { makeSite, npm } from '../packed/packages.js';
import { type Registry, startRegistry } from '../packed/registry.js';
import type { ServiceProcess } from '../service-process.js';

const run = promisify(execFile);
const QUIET = ['--no-audit', '--no-fund', '--no-progress', '--prefer-offline', '--loglevel=error'];

let folder = '';
let registry: Registry;
let checkout: Checkout;
let site = '';
let launcher: ServiceProcess | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodepool-release-'));
  registry = await startRegistry(join(folder, 'registry'));
  [checkout, site] = await Promise.all([
    makeCheckout(join(folder, 'checkout'), registry.npmrc),
    makeSite(join(folder, 'site')),
  ]);
  await writeFile(join(site, '.npmrc'), registry.npmrc);
}, 300_000);

afterAll(async () => {
  await launcher?.kill();
  await registry.stop();
  await rm(folder, { recursive: true, force: true });
});

const OLDEST_NODE = '20.19.0';
const ONLINE = [...QUIET.filter((flag) => flag !== '--prefer-offline'), '--prefer-online'];

interface Manifest {
  readonly version: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const release = (...args: string[]) => npm(checkout.folder, 'run', 'release', '--', ...args);

/** Version of each package in the checkout, by name. */
async function versionsInCheckout(): Promise<Record<string, string>> {
  const dirs = await readdir(join(checkout.folder, 'packages'));
  const manifests = await Promise.all(
    dirs.map(async (dir) => readFile(join(checkout.folder, 'packages', dir, 'package.json'), 'utf8')),
  );
  return Object.fromEntries(
    manifests.map((text) => {
      const { name, version } = JSON.parse(text) as { name: string; version: string };
      return [name, version];
    }),
  );
}

/** Versions of all installed copies of a package below a folder. */
async function copiesOf(name: string, below: string): Promise<string[]> {
  const { stdout } = await run('find', [below, '-path', `*/node_modules/${name}/package.json`]);
  const files = stdout.split('\n').filter((file) => file !== '');
  return Promise.all(
    files.map(async (file) => (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version),
  );
}

/** Installed packages below a folder that do not support a version of Node, with the range that they support. */
async function packagesRefusing(version: string, below: string): Promise<string[]> {
  const { stdout } = await run('find', [below, '-path', '*/node_modules/*', '-name', 'package.json']);
  const files = stdout.split('\n').filter((file) => /\/node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(file));
  const refusing = files.map(async (file) => {
    const { name, engines } = JSON.parse(await readFile(file, 'utf8')) as {
      name?: string;
      engines?: { node?: string };
    };
    return satisfies(version, engines?.node ?? '*') ? [] : [`${name ?? file} wants Node ${engines?.node ?? ''}`];
  });
  return (await Promise.all(refusing)).flat();
}

/** Installs a version of Node through npm. @returns the folder of its program */
async function nodeOf(version: string): Promise<string> {
  const place = join(folder, 'nodes', version);
  await npm(folder, 'install', ...QUIET, '--ignore-scripts=false', '--prefix', place, `node@${version}`);
  return join(place, 'node_modules', 'node', 'bin');
}

/**
 * Runs a command with a node of the installed fake cloud, through the installed launcher and its ZooKeeper.
 * @param nodeDir - folder of the Node program that runs them all; without it, the one that runs the tests
 */
async function runRequest(nodeDir?: string): Promise<string> {
  const pool = {
    name: 'main',
    'host-key-checking': false,
    labels: [{ name: 'small', 'cloud-image': 'x', 'min-ram': 1 }],
  };
  const provider = { name: 'cloud', driver: 'fake', 'cloud-images': [{ name: 'x' }], pools: [pool] };
  const config = { labels: [{ name: 'small' }], providers: [provider] };
  const dir = await mkdtemp(join(folder, 'state-'));
  const path: Record<string, string> = nodeDir === undefined ? {} : { PATH: `${nodeDir}:${process.env['PATH'] ?? ''}` };
  const env = { XDG_STATE_HOME: dir, ...path };
  launcher = await startInstalledLauncher(site, { dir, config, env });
  await launcher.whenReady();
  const args = [...launcher.commonOptions, 'run', 'small', '--', 'node', '-p', '`used ${process.version}`'];
  const options = { cwd: site, env: { ...process.env, ...env }, timeout: 200_000 };
  const { stdout } = await run(join(site, 'node_modules', '.bin', 'nodepool'), args, options);
  await launcher.stop();
  return stdout;
}

describe('a release', () => {
  it('is built and published from a fresh clone', { timeout: 300_000 }, async () => {
    const wanted = await versionsInCheckout();

    await release('publish');

    const published = await Promise.all(
      Object.keys(wanted).map(async (name) => [name, (await registry.versions(name)).at(-1)]),
    );
    expect(Object.fromEntries(published)).toEqual(wanted);
    const tags = (await checkout.git('tag')).split('\n').sort();
    expect(tags).toEqual(
      Object.entries(wanted)
        .map(([name, version]) => `${name}@${version}`)
        .sort(),
    );
    expect(await checkout.git('status', '--porcelain')).toBe('');
  });

  it('is installed with one copy of core, and serves a request', { timeout: 300_000 }, async () => {
    const names = ['launcher', 'cli', 'driver-fake', 'driver-static', 'driver-metastatic'];

    await npm(site, 'install', ...QUIET, ...names.map((name) => `@nodepool/${name}`));
    const used = await runRequest();

    expect(await copiesOf('@nodepool/core', site)).toHaveLength(1);
    expect(await copiesOf('@nodepool/zk-protocol', site)).toHaveLength(1);
    expect(await copiesOf('@opentelemetry/sdk-trace-base', site)).toEqual([]);
    expect(used).toContain(`used ${process.version}`);
    expect(await packagesRefusing(OLDEST_NODE, join(site, 'node_modules'))).toEqual([]);
  });

  it.each([OLDEST_NODE, '22', '24'])('serves a request on Node %s', { timeout: 300_000 }, async (version) => {
    expect(await runRequest(await nodeOf(version))).toContain(`used v${version}`);
  });

  it('creates a driver package without a checkout', { timeout: 300_000 }, async () => {
    const author = await makeSite(join(folder, 'author'));
    await writeFile(join(author, '.npmrc'), registry.npmrc);

    await npm(author, 'create', '--yes', ...QUIET, '@nodepool/driver', 'nodepool-driver-acme');
    const made = join(author, 'nodepool-driver-acme');
    await writeFile(join(made, '.npmrc'), registry.npmrc);
    await npm(made, 'install', ...QUIET);
    await npm(made, 'run', 'build');

    expect(await readFile(join(made, 'docs', 'writing-a-driver.md'), 'utf8')).toContain('# Writing a driver');
    expect(await copiesOf('@nodepool/core', made)).toHaveLength(1);
    expect(await readdir(join(made, 'dist'))).toContain('index.js');
  });

  it('of core alone reaches existing installations', { timeout: 300_000 }, async () => {
    const before = await versionsInCheckout();
    await appendFile(join(checkout.folder, 'packages/core/src/index.ts'), '\n/* a patch */\n');
    await checkout.commit('fix(core): a thing that operators notice');

    await release('version', '--alone', '--yes', '--no-push');
    await release('publish');
    await npm(site, 'update', ...ONLINE);
    const used = await runRequest();

    const core = '@nodepool/core';
    const after = await versionsInCheckout();
    expect(after).toEqual({ ...before, [core]: expect.not.stringMatching(before[core] ?? '') as string });
    expect(await registry.versions(core)).toEqual([before[core], after[core]]);
    expect(await registry.versions('@nodepool/launcher')).toEqual([before['@nodepool/launcher']]);
    expect(await readFile(join(checkout.folder, 'packages/core/CHANGELOG.md'), 'utf8')).toContain(
      'a thing that operators notice',
    );
    expect(await copiesOf(core, site)).toEqual([after[core]]);
    expect(used).toContain('used');
  });

  it('lists with --dry-run what it would do and changes nothing', { timeout: 300_000 }, async () => {
    await appendFile(join(checkout.folder, 'packages/core/src/index.ts'), '\n/* a feature */\n');
    await checkout.commit('feat(core): something that drivers may use');
    const before = await versionsInCheckout();

    const said = await release('--dry-run');

    expect(said).toMatch(/^would version @nodepool\/core: 1\.0\.1 -> 1\.1\.0$/m);
    expect(said).toMatch(/^is published @nodepool\/core@1\.0\.1$/m);
    expect(await versionsInCheckout()).toEqual(before);
    expect(await checkout.git('status', '--porcelain')).toBe('');
  });

  it('with a new feature in core leaves third-party drivers installable', { timeout: 300_000 }, async () => {
    const author = join(folder, 'author', 'nodepool-driver-acme');

    await release('version', '--yes', '--no-push');
    await release('publish');
    await npm(author, 'install', ...ONLINE, '@nodepool/core@1.1.0');

    expect(await copiesOf('@nodepool/core', author)).toEqual(['1.1.0']);
    const driver = JSON.parse(
      await readFile(join(checkout.folder, 'packages/driver-static/package.json'), 'utf8'),
    ) as Manifest;
    expect(driver.peerDependencies['@nodepool/core']).toBe('^1.0.0');
  });

  it('of one driver changes no other package', { timeout: 300_000 }, async () => {
    const before = await versionsInCheckout();
    await appendFile(join(checkout.folder, 'packages/driver-static/src/index.ts'), '\n/* a patch */\n');
    await checkout.commit('fix(driver-static): a thing that operators notice');

    await release('version', '--alone', '--yes', '--no-push');
    await release('publish');

    const name = '@nodepool/driver-static';
    const after = await versionsInCheckout();
    expect(after).toEqual({ ...before, [name]: expect.not.stringMatching(before[name] ?? '') as string });
    expect((await registry.versions(name)).at(-1)).toBe(after[name]);
  });

  it(
    'with a new driver API raises the version ranges of drivers and of the template',
    { timeout: 300_000 },
    async () => {
      const manifestOf = async (place: string) =>
        JSON.parse(await readFile(join(checkout.folder, place, 'package.json'), 'utf8')) as Manifest;
      const contract = join(checkout.folder, 'packages/core/src/contract/driver.ts');
      const text = await readFile(contract, 'utf8');
      await writeFile(contract, text.replace('DRIVER_API_VERSION = 1', 'DRIVER_API_VERSION = 2'));
      await checkout.commit('feat(core): another contract\n\nBREAKING CHANGE: drivers of version 1 are refused');
      const creator = (await manifestOf('packages/create-driver')).version;

      await release('version', '--yes', '--no-push');
      await release('publish');

      expect((await manifestOf('packages/core')).version).toBe('2.0.0');
      for (const place of ['packages/driver-static', 'packages/create-driver/template', 'examples/simple-driver'])
        expect((await manifestOf(place)).peerDependencies['@nodepool/core']).toBe('^2.0.0');
      expect((await manifestOf('packages/create-driver')).version).not.toBe(creator);
      expect((await registry.versions('@nodepool/core')).at(-1)).toBe('2.0.0');
      expect(await checkout.git('status', '--porcelain')).toBe('');
    },
  );
});
