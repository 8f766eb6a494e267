import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock, type Clock } from '@nodepool/zk-protocol';
import { freePorts } from '@nodepool/test-servers';
import { createDriver, install, makeSite, npm, pack, packPackages, root } from '../packed/packages.js';

/** The fake cloud of the template, as its own build has it. */
interface TemplateCloud {
  readonly url: string;
  readonly list: () => readonly { id: string }[];
  stop(): Promise<void>;
}
interface TemplateCloudModule {
  readonly FakeCloud: { start(clock: Clock, startMs: number): Promise<TemplateCloud> };
}

const run = promisify(execFile);

let folder = '';
let template = '';
let site = '';
let simple = '';
let cloud: TemplateCloud | undefined;
let launcher: ChildProcess | undefined;
let output = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodepool-template-'));
  const [tarballs, copy, empty] = await Promise.all([
    packPackages(['launcher', 'cli'], join(folder, 'tarballs')),
    createDriver('template', join(folder, 'template')),
    makeSite(join(folder, 'site')),
  ]);
  const contract = ['core', 'zk-protocol'].map((name) => tarballs.get(name) ?? `${name} was not packed`);
  template = copy;
  site = empty;
  simple = await copySimpleDriver(join(folder, 'simple'));
  await install(template, contract);
  await install(simple, contract);
  await npm(template, 'run', 'build'); // here and not by prepack: scripts may be switched off for packing
  const driver = await pack(template, join(folder, 'tarballs'));
  await install(site, [...tarballs.values(), driver]);
}, 300_000);

afterAll(async () => {
  if (launcher?.exitCode === null) {
    launcher.kill('SIGKILL');
    await once(launcher, 'exit');
  }
  await cloud?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The example of a simple driver with its test of the contract as the guide shows it, and nothing of this repository. */
async function copySimpleDriver(into: string): Promise<string> {
  const from = join(root, 'examples', 'simple-driver');
  for (const name of ['package.json', 'src', 'test/contract.js', 'test/shed.js']) {
    await cp(join(from, name), join(into, name), { recursive: true });
  }
  const shown = await guideExample();
  const given = "import { contract } from './contract.js';\n";
  const names = 'const { driver, cloud, validConfig, invalidConfigs, packageFile } = contract;\n';
  await writeFile(join(into, 'test', 'guide.test.js'), given + names + shown);
  return into;
}

/** The test that the guide for authors of drivers shows: its only example that uses the kit. */
async function guideExample(): Promise<string> {
  const guide = await readFile(join(root, 'docs', 'writing-a-driver.md'), 'utf8');
  const blocks = [...guide.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, text = '']) => text);
  const [shown, ...others] = blocks.filter((text) => text.includes('testDriverContract('));
  if (shown === undefined || others.length > 0) throw new Error('docs/writing-a-driver.md does not show one test');
  return shown;
}

/** Runs a program of the installed packages. */
async function installed(name: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(join(site, 'node_modules', '.bin', name), args, { cwd: site, timeout: 60_000 });
  return stdout;
}

async function startCloud(): Promise<TemplateCloud> {
  const file = pathToFileURL(join(template, 'build', 'test', 'fake-cloud.js')).href;
  const { FakeCloud } = (await import(/* @vite-ignore */ file)) as TemplateCloudModule;
  return FakeCloud.start(systemClock, 50);
}

async function writeConfig(url: string, port: number): Promise<string> {
  const file = join(site, 'nodepool.yaml');
  const pool = { name: 'main', labels: [{ name: 'small', 'cloud-image': 'debian', size: 's' }] };
  const provider = { name: 'garden', driver: 'template', url, 'cloud-images': [{ name: 'debian' }], pools: [pool] };
  const config = {
    webapp: { port, listen_address: '127.0.0.1' },
    labels: [{ name: 'small' }],
    providers: [provider],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

/** Starts the installed launcher, and waits until it is ready. */
async function startLauncher(configFile: string, port: number): Promise<ChildProcess> {
  const args = ['-f', '-c', configFile, '--state-dir', join(site, 'state'), '-p', join(site, 'launcher.pid')];
  const child = spawn(join(site, 'node_modules', '.bin', 'nodepool-launcher'), args, { cwd: site });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += String(text)));
  launcher = child;
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/ready`).then(
      ({ ok }) => ok,
      () => false, // nothing listens yet
    );
  await vi.waitUntil(isReady, { timeout: 30_000, interval: 50 }).catch(() => {
    throw new Error(`the launcher is not ready:\n${output}`);
  });
  return child;
}

describe('a driver made by create-driver, as a package of somebody else', () => {
  it('passes its own tests against packed core', async () => {
    const printed = await npm(template, 'test');

    expect(printed).toMatch(/^# fail 0$|^ℹ fail 0$/m);
    expect(printed).toContain('loses nothing of a creation, at whatever moment the launcher dies');
  });

  it('is found by its name', async () => {
    const printed = await installed('nodepool', 'drivers');

    expect(printed).toMatch(/\| template\s*\| nodepool-driver-template\s*\| 0\.1\.0\s*\| 1\s*\| True\s*\|/);
    expect(printed).toContain(join(site, 'node_modules', 'nodepool-driver-template'));
  });

  it('serves a request in the installed launcher, on its embedded ZooKeeper', async () => {
    const [port = 0] = await freePorts(1);
    cloud = await startCloud();
    const configFile = await writeConfig(cloud.url, port);
    const child = await startLauncher(configFile, port);
    const common = ['-c', configFile, '--state-dir', join(site, 'state')];

    const during = await installed('nodepool', ...common, 'run', 'small', '--', process.execPath, '-p', '"used"');
    const list = cloud.list.bind(cloud);
    await expect.poll(() => list().length, { timeout: 20_000 }).toBe(0);
    child.kill('SIGTERM');
    const [status] = (await once(child, 'exit')) as [number | null];

    expect(during).toContain('used');
    expect(output).toContain('Node is ready');
    expect(status).toBe(0);
  });
});

describe('the test that the guide shows, in a folder with nothing but packed core', () => {
  it('holds the simple driver against the contract, its login included', async () => {
    const { stdout } = await run(process.execPath, ['--test', 'test/guide.test.js'], {
      cwd: simple,
      env: { ...process.env, NODE_OPTIONS: '' },
      timeout: 60_000,
    });

    expect(stdout).toMatch(/^# fail 0$|^ℹ fail 0$/m);
    expect(stdout).toContain('loses nothing of a creation, at whatever moment the launcher dies');
    expect(stdout).toMatch(/driver "shed"/);
  });
});
