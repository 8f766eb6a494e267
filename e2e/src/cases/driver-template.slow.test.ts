import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '@nodepool/zk-protocol';
import { startInstalledLauncher } from '../packed/installed-launcher.js';
import { createDriver, install, makeSite, npm, pack, packPackages, root } from '../packed/packages.js';
import type { ServiceProcess } from '../service-process.js';

/** The fake cloud of the template, as the template builds it. */
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
let launcher: ServiceProcess | undefined;

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
  await npm(template, 'run', 'build'); // prepack would do it, but scripts may be disabled for packing
  const driver = await pack(template, join(folder, 'tarballs'));
  await install(site, [...tarballs.values(), driver]);
}, 300_000);

afterAll(async () => {
  await launcher?.kill();
  await cloud?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Copies the simple driver and writes the contract test of the guide beside it, without the rest of this repository. */
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

/** Contract test in the guide for driver authors: its only example that calls the test kit. */
async function guideExample(): Promise<string> {
  const guide = await readFile(join(root, 'docs', 'writing-a-driver.md'), 'utf8');
  const blocks = [...guide.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, text = '']) => text);
  const [shown, ...others] = blocks.filter((text) => text.includes('testDriverContract('));
  if (shown === undefined || others.length > 0) throw new Error('docs/writing-a-driver.md does not show one test');
  return shown;
}

/** Runs a program of the installed packages. */
async function installed(name: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(join(site, 'node_modules', '.bin', name), args, { cwd: site, timeout: 200_000 });
  return stdout;
}

async function startCloud(): Promise<TemplateCloud> {
  const file = pathToFileURL(join(template, 'build', 'test', 'fake-cloud.js')).href;
  const { FakeCloud } = (await import(/* @vite-ignore */ file)) as TemplateCloudModule;
  return FakeCloud.start(systemClock, 50);
}

/** Starts the installed launcher with the driver of the template, and waits until it is ready. */
async function startLauncher(url: string): Promise<ServiceProcess> {
  const pool = { name: 'main', labels: [{ name: 'small', 'cloud-image': 'debian', size: 's' }] };
  const provider = { name: 'garden', driver: 'template', url, 'cloud-images': [{ name: 'debian' }], pools: [pool] };
  const config = { labels: [{ name: 'small' }], providers: [provider] };
  launcher = await startInstalledLauncher(site, { dir: site, config });
  await launcher.whenReady();
  return launcher;
}

describe('a driver made by create-driver, as a third-party package', () => {
  it('passes its own tests against packed core', async () => {
    const printed = await npm(template, 'test');

    expect(printed).toMatch(/^# fail 0$|^ℹ fail 0$/m);
    expect(printed).toContain('loses nothing of a creation, at whatever moment the launcher dies');
  });

  it('is found by name', async () => {
    const printed = await installed('nodepool', 'drivers');

    expect(printed).toMatch(/\| template\s*\| nodepool-driver-template\s*\| 0\.1\.0\s*\| 1\s*\| True\s*\|/);
    expect(printed).toContain(join(site, 'node_modules', 'nodepool-driver-template'));
  });

  it('serves a request in the installed launcher, on its embedded ZooKeeper', async () => {
    cloud = await startCloud();
    const serving = await startLauncher(cloud.url);

    const during = await installed(
      'nodepool',
      ...serving.commonOptions,
      'run',
      'small',
      '--',
      process.execPath,
      '-p',
      '"used"',
    );
    const list = cloud.list.bind(cloud);
    await expect.poll(() => list().length).toBe(0);
    await serving.stop();

    expect(during).toContain('used');
    expect(serving.log).toContain('Node is ready');
    expect(serving.exitCode).toBe(0);
  });
});

describe('the contract test of the guide, with only packed core installed', () => {
  it('checks the simple driver, its login included', async () => {
    const { stdout } = await run(process.execPath, ['--test', 'test/guide.test.js'], {
      cwd: simple,
      env: { ...process.env, NODE_OPTIONS: '' },
      timeout: 200_000,
    });

    expect(stdout).toMatch(/^# fail 0$|^ℹ fail 0$/m);
    expect(stdout).toContain('loses nothing of a creation, at whatever moment the launcher dies');
    expect(stdout).toMatch(/driver "shed"/);
  });
});
