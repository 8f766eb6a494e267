import { join } from 'node:path';
import type { Clock } from '@nodepool/zk-protocol';
import { describe, expect, it, vi } from 'vitest';
import { tempDir } from '../../../test/support/temp-dir.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { discoverDriver } from './discover-driver.js';
import { codeOf, packageFiles } from '../../../test/support/driver-packages.js';
import { inspectDrivers } from '../inspect-drivers.js';

async function failure(name: string, files: Record<string, string>): Promise<string> {
  const searchFrom = [tempDir(files)];
  const error: unknown = await discoverDriver(name, { searchFrom }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'NODEPOOL_DRIVER', driver: name });
  return (error as Error).message.replaceAll(searchFrom[0] ?? '', '<dir>');
}

describe('finding a driver', () => {
  it.each(['@nodepool/driver-x', 'nodepool-driver-x', '@acme/nodepool-driver-x'])(
    'finds %s by its short name',
    async (name) => {
      const dir = tempDir(packageFiles('node_modules', name));

      const found = await discoverDriver('x', { searchFrom: [join(dir, 'etc')] });

      expect(found).toMatchObject({
        packageName: name,
        packageVersion: '1.2.3',
        path: join(dir, 'node_modules', name),
      });
      expect(found.driver.name).toBe('x');
    },
  );

  it('accepts a full package name with any driver name', async () => {
    const dir = tempDir(packageFiles('node_modules', '@acme/cloud'));

    expect((await discoverDriver('@acme/cloud', { searchFrom: [dir] })).driver.name).toBe('x');
  });

  it('resolves a path relative to the first folder', async () => {
    const dir = tempDir(packageFiles('drivers', 'mine'));

    expect((await discoverDriver('./drivers/mine', { searchFrom: [dir] })).packageName).toBe('mine');
  });

  it('prefers the official name, then the first search folder', async () => {
    const config = tempDir(packageFiles('node_modules', 'nodepool-driver-x'));
    const installation = tempDir({
      ...packageFiles('node_modules', 'nodepool-driver-x'),
      ...packageFiles('node_modules', 'nodepool-driver-y', { driver: 'y' }),
      ...packageFiles('node_modules', '@nodepool/driver-y', { driver: 'y' }),
    });
    const searchFrom = [config, installation];

    expect((await discoverDriver('x', { searchFrom })).path).toContain(config);
    expect((await discoverDriver('y', { searchFrom })).packageName).toBe('@nodepool/driver-y');
  });

  it('searches the global folder last', async () => {
    const globalDir = tempDir(packageFiles('.', 'nodepool-driver-x'));

    expect((await discoverDriver('x', { searchFrom: [tempDir()], globalDir })).path).toContain(globalDir);
  });

  it('ignores an unrelated package of the same name', async () => {
    const dir = tempDir({
      'node_modules/x/package.json': '{"name": "x"}',
      ...packageFiles('node_modules', 'nodepool-driver-x'),
    });

    expect((await discoverDriver('x', { searchFrom: [dir] })).packageName).toBe('nodepool-driver-x');
  });

  it('honours export conditions', async () => {
    const exports = { '.': { '@nodepool/source': './source.js', types: './x.d.ts', default: './missing.js' } };
    const dir = tempDir({
      ...packageFiles('node_modules', 'nodepool-driver-x', { exports }),
      'node_modules/nodepool-driver-x/source.js': codeOf('x'),
    });

    const found = await discoverDriver('x', { searchFrom: [dir], conditions: ['@nodepool/source'] });

    expect(found.driver.name).toBe('x');
  });
});

describe('a driver that cannot be used', () => {
  it('is not installed: says how to install it', async () => {
    expect(await failure('gce', {})).toBe(
      'driver "gce" is not installed (searched from <dir>), install it with: npm install @nodepool/driver-gce',
    );
    expect(await failure('@acme/nodepool-driver-rack', {})).toMatch(/npm install @acme\/nodepool-driver-rack$/);
  });

  it.each([
    ['openstak', /is not installed .*, did you mean "openstack"\?$/],
    ['OpenStack', /^"OpenStack" is no name of a driver, did you mean "openstack"\?$/],
    ['aws', /one of the original Nodepool's that this one has no package for: keep this provider on a launcher of the/],
    ['acme', /is not installed .*, no driver is installed: install the package of the driver by its full name/],
    ['nodepool-driver-acme', /is not installed .*: install the package of the driver by its full name/],
    ['acme cloud', /^"acme cloud" is no name of a driver, expected a short name such as openstack, a package such as/],
    ['acme/../../etc', /is no name of a driver/],
    ['@acme', /is no name of a driver/],
  ])('is named %s: says what may be meant, and advises no name that anybody may register', async (name, message) => {
    const text = await failure(name, {});

    expect(text).toMatch(message);
    expect(text).not.toContain('npm install');
  });

  it('suggests an installed driver with a similar name', async () => {
    const files = packageFiles('node_modules', '@acme/nodepool-driver-rack', { driver: 'rack' });

    expect(await failure('rak', files)).toMatch(/did you mean "rack"\?$/);
  });

  it('is made for another API version: names the package to update, without loading it', async () => {
    const code = 'throw new Error("loaded");';
    const newer = packageFiles('node_modules', 'nodepool-driver-x', { apiVersion: 2, code });
    const older = packageFiles('node_modules', 'nodepool-driver-x', { apiVersion: 0, code });

    expect(await failure('x', newer)).toMatch(/is made for driver API 2 .* this Nodepool has API 1: update Nodepool/);
    expect(await failure('x', older)).toMatch(/install a newer version of it, from where this one came$/);
    const scoped = packageFiles('node_modules', '@acme/nodepool-driver-x', { apiVersion: 0, code });
    expect(await failure('x', scoped)).toMatch(/npm install @acme\/nodepool-driver-x@latest$/);
  });

  it('is installed twice: names both', async () => {
    const files = {
      ...packageFiles('node_modules', '@a/nodepool-driver-x'),
      ...packageFiles('node_modules', '@b/nodepool-driver-x'),
    };

    expect(await failure('x', files)).toMatch(/by both @a\/nodepool-driver-x and @b\/nodepool-driver-x, name the one/);
  });

  it.each([
    ['exports nothing', 'export const something = 1;', /has no named export "driver"/],
    ['exports something else', 'export const driver = {};', /exports a "driver" that is none/],
    [
      'throws when loaded',
      'throw new Error("no native part");',
      /cannot be loaded: no native part; report this to the author of nodepool-driver-x, or try another version of it$/,
    ],
    [
      'imports what is not there',
      'import "acme-sdk";',
      /cannot be loaded: Cannot find package 'acme-sdk' .*; a file or package it needs is missing: install nodepool-driver-x again$/,
    ],
    ['exports another name', codeOf('z'), /package\.json says "x", its export "z"/],
  ])('%s', async (_, code, expected) => {
    expect(await failure('x', packageFiles('node_modules', 'nodepool-driver-x', { code }))).toMatch(expected);
  });

  it('declares another name in its package.json', async () => {
    const files = packageFiles('node_modules', 'nodepool-driver-x', { driver: 'z' });

    expect(await failure('x', files)).toMatch(/calls itself "z", write driver: z/);
  });

  it('has a package.json that is not JSON', async () => {
    expect(await failure('x', { 'node_modules/nodepool-driver-x/package.json': '{' })).toMatch(/cannot be read/);
  });
});

/** Packages whose code has started to run. */
const begun = new Set<string>();
Object.assign(globalThis, { nodepoolTestBegun: begun });
/** Code of a package that signals its start. */
const telling = (name: string, code: string) => `globalThis.nodepoolTestBegun.add('${name}'); ${code}`;
/** Lets a waiting package continue. */
const goOn = new Map<string, () => void>();
Object.assign(globalThis, { nodepoolTestGoOn: goOn });
const HANGING = 'await new Promise(() => {}); ';

/** Advances the clock once all these packages are running and all but one are loaded. */
async function untilLate<T>(clock: VirtualClock, packages: readonly string[], loading: Promise<T>): Promise<T> {
  loading.catch(() => undefined); // the caller awaits it after the time has passed
  await untilBegun(clock, packages);
  await clock.advance(15_000);
  return loading;
}

function untilBegun(clock: VirtualClock, packages: readonly string[]): Promise<void> {
  begun.clear();
  return vi.waitFor(() => {
    expect([...begun].sort()).toEqual(packages);
    expect(clock.pendingTimers).toBe(1);
  }, 20_000);
}

describe('a package that has no key "nodepool"', () => {
  const manifest = '{"name": "nodepool-driver-x", "version": "1.0.0", "main": "index.js"}';

  it.each([
    ['x', 'node_modules/nodepool-driver-x'],
    ['nodepool-driver-x', 'node_modules/nodepool-driver-x'],
    ['x', 'node_modules/@acme/nodepool-driver-x'],
    ['@acme/cloud', 'node_modules/@acme/cloud'],
  ])('as driver %s in %s is distinguished from one that is not installed', async (name, folder) => {
    const message = await failure(name, { [`${folder}/package.json`]: manifest });

    expect(message).toContain(`the package in <dir>/${folder} has no \`nodepool.driver\` in its package.json`);
    expect(message).toMatch(/has to add "nodepool": \{"driver": ".*", "apiVersion": 1\}$/);
    expect(message).not.toContain('npm install');
  });
});

describe('a driver whose import never settles', () => {
  it('times out with an error that names package, file and remedy', async () => {
    const clock = new VirtualClock();
    const dir = tempDir(
      packageFiles('node_modules', 'nodepool-driver-x', { code: telling('x', HANGING) + codeOf('x') }),
    );

    const failing = untilLate(clock, ['x'], discoverDriver('x', { searchFrom: [dir], clock }));

    await expect(failing).rejects.toMatchObject({
      code: 'NODEPOOL_DRIVER',
      message: expect.stringMatching(
        /package nodepool-driver-x 1\.2\.3 in .* cannot be loaded: .*main\.js has not ended loading within 15 s, .*: report this to the author/,
      ) as string,
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('gets a new timeout if the process was paused meanwhile', async () => {
    const code = telling('x', 'await new Promise((resolve) => nodepoolTestGoOn.set("x", resolve)); ' + codeOf('x'));
    const dir = tempDir(packageFiles('node_modules', 'nodepool-driver-x', { code }));
    const virtual = new VirtualClock();
    let pausedMs = 0;
    const clock: Clock = {
      now: () => virtual.now() + pausedMs,
      setTimer: (ms, fn) => virtual.setTimer(ms, fn),
    };

    const loading = discoverDriver('x', { searchFrom: [dir], clock });
    await untilBegun(virtual, ['x']);
    pausedMs = 60_000;
    await virtual.advance(15_000);
    goOn.get('x')?.();

    await expect(loading).resolves.toMatchObject({ packageName: 'nodepool-driver-x' });
  });

  it('is one problem among the installed drivers; the others are inspected', async () => {
    const clock = new VirtualClock();
    const dir = tempDir({
      ...packageFiles('node_modules', 'nodepool-driver-hung', {
        driver: 'hung',
        code: telling('hung', HANGING) + codeOf('hung'),
      }),
      ...packageFiles('node_modules', 'nodepool-driver-y', { driver: 'y', code: telling('y', codeOf('y')) }),
    });

    const found = await untilLate(clock, ['hung', 'y'], inspectDrivers({ searchFrom: [dir], clock }));

    expect(found.map(({ name, problem }) => [name, problem])).toEqual([
      ['hung', expect.stringMatching(/has not ended loading within 15 s/)],
      ['y', undefined],
    ]);
  });
});

describe('the inspection of installed drivers', () => {
  it('reports the problem and remedy of each', async () => {
    const files = {
      ...packageFiles('node_modules', '@nodepool/driver-x'),
      ...packageFiles('node_modules', 'nodepool-driver-x'),
      ...packageFiles('node_modules', 'nodepool-driver-old', { driver: 'old', apiVersion: 0 }),
      ...packageFiles('node_modules', 'nodepool-driver-broken', { driver: 'broken', code: 'throw new Error("no")' }),
    };
    const found = await inspectDrivers({ searchFrom: [tempDir(files)] });

    expect(found.map(({ packageName, problem }) => [packageName, problem])).toEqual([
      ['nodepool-driver-broken', expect.stringMatching(/cannot be loaded: no; report this/)],
      ['nodepool-driver-old', expect.stringMatching(/made for driver API 0 .* install a newer version/)],
      ['@nodepool/driver-x', undefined],
      [
        'nodepool-driver-x',
        expect.stringMatching(/^hidden by @nodepool\/driver-x in .* write driver: "nodepool-driver-x"$/),
      ],
    ]);
  });
});
