import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../test/support/temp-dir.js';
import { loadConfig } from './load-config.js';
import { inspectDrivers } from './inspect-drivers.js';
import { createDriverRegistry } from './discovery/registry.js';

const CAPABILITIES = '{ launches: true, pausesAtQuota: true, managesImages: false }';
const CORE = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

interface Faults {
  readonly manifest?: object;
  /** As source text; omitted if `undefined`. */
  readonly capabilities?: string | undefined;
  readonly schema?: string;
  readonly code?: string;
  /** Version of a copy of core in the package's own `node_modules`. */
  readonly ownCore?: string;
}

/** A folder with the package of a driver `x`. */
function install(faults: Faults = {}): string {
  const { manifest = {}, schema = '{}', ownCore } = faults;
  const capabilities = 'capabilities' in faults ? faults.capabilities : CAPABILITIES;
  const folder = 'node_modules/nodepool-driver-x';
  const code = `export const driver = { name: 'x', apiVersion: 1, schema: ${schema},
    ${capabilities === undefined ? '' : `capabilities: ${capabilities},`}
    getProviderConfig: (entry) => ({ name: entry.name, driverName: 'x', entry, pools: new Map() }), getProvider() {} };`;
  const nodepool = { driver: 'x', apiVersion: 1 };
  const all = {
    name: 'nodepool-driver-x',
    version: '1.2.3',
    type: 'module',
    exports: './main.js',
    nodepool,
    ...manifest,
  };
  return tempDir({
    [`${folder}/package.json`]: JSON.stringify(all),
    [`${folder}/main.js`]: faults.code ?? code,
    ...(ownCore !== undefined && {
      [`${folder}/node_modules/@nodepool/core/package.json`]: JSON.stringify({ version: ownCore }),
    }),
  });
}

async function inspect(faults?: Faults) {
  const folder = install(faults);
  const [found] = await inspectDrivers({ searchFrom: [folder] });
  return { folder, problem: found?.problem, warnings: found?.warnings };
}

describe('a valid driver package', () => {
  it('has neither problems nor warnings', async () => {
    const peers = { manifest: { peerDependencies: { '@nodepool/core': '^1.0.0' } } };

    expect(await inspect(peers)).toMatchObject({ problem: undefined, warnings: [] });
  });
});

describe('a driver package is rejected', () => {
  it.each<[string, Faults, RegExp]>([
    [
      'without capabilities',
      { capabilities: undefined },
      /exports a "driver" that is none: it has no capabilities, expected: export const driver: Driver = \{ name, apiVersion, cap/,
    ],
    [
      'with a schema that is none, told by what was expected',
      { schema: "{ type: 'object', properties: { rate: { type: 'nonsense' } } }" },
      /its configuration schema is not valid: properties\.rate\.type: .*"array", .*; report this to the author of nodepool-driver-x$/,
    ],
    [
      'with a schema that does not compile',
      { schema: "{ type: 'object', properties: { rate: { typo: 'number' } } }" },
      /its configuration schema is not valid: strict mode: unknown keyword: "typo"; report/,
    ],
    [
      'that is CommonJS',
      { manifest: { type: undefined }, code: 'exports.createDriver = () => undefined;' },
      /has no named export "driver": it is a CommonJS module, and drivers are ES modules: .* "type": "module"/,
    ],
    [
      'whose code is CommonJS although it says otherwise',
      // the error of Node; the test runner would run such a file
      { code: "throw new ReferenceError('module is not defined in ES module scope');" },
      /module is not defined in ES module scope.*: its code is CommonJS, and drivers are ES modules \(import and export\)/,
    ],
    [
      'without the key "nodepool"',
      { manifest: { nodepool: undefined } },
      /has no `nodepool.driver` in its package.json, .* has to add "nodepool": \{"driver": "x", "apiVersion": 1\}$/,
    ],
  ])('%s', async (_what, faults, problem) => {
    expect((await inspect(faults)).problem).toMatch(problem);
  });
});

describe('a driver package gets a warning', () => {
  const place = (folder: string) =>
    `driver "x": package nodepool-driver-x 1.2.3 in ${folder}/node_modules/nodepool-driver-x`;

  it('with core among its dependencies', async () => {
    const { folder, problem, warnings } = await inspect({ manifest: { dependencies: { '@nodepool/core': '^1.0.0' } } });

    expect(problem).toBeUndefined();
    expect(warnings).toEqual([
      `${place(folder)} has @nodepool/core "^1.0.0" among its dependencies, which installs a second copy: its author has to move it ` +
        'to peerDependencies',
    ]);
  });

  it.each(['^0.1.0', '>=2'])('made for another core: %s', async (range) => {
    const { warnings } = await inspect({ manifest: { peerDependencies: { '@nodepool/core': range } } });

    expect(warnings).toEqual([
      expect.stringMatching(
        /is made for @nodepool\/core ".*" \(its peerDependencies\), this Nodepool has 1\.\d+\.\d+.*: install/,
      ),
    ]);
  });

  it('with its own copy of core', async () => {
    const { folder, warnings } = await inspect({ ownCore: '1.0.0' });

    const copy = `${folder}/node_modules/nodepool-driver-x/node_modules/@nodepool/core`;
    expect(warnings).toEqual([
      expect.stringContaining(`loads a second copy of @nodepool/core, 1.0.0 in ${copy}, beside`),
    ]);
    expect(warnings?.[0]).toContain(
      `in ${CORE}, and the two do not know each other: install the package beside Nodepool`,
    );
  });

  it('also if a configuration names it', async () => {
    const folder = install({
      ownCore: '1.0.0',
      schema: "{ type: 'object', properties: { pools: { type: 'array' } } }",
    });
    const file = join(folder, 'nodepool.yaml');
    writeFileSync(file, 'providers: [{ name: one, driver: x, pools: [] }, { name: two, driver: x, pools: [] }]\n');
    const drivers = createDriverRegistry({ searchFrom: [folder] });

    const { warnings } = await loadConfig({ file, env: {}, drivers, mode: 'service' });

    const told = warnings.filter(({ message }) => message.includes('a second copy of @nodepool/core'));
    expect(told.map(({ path, severity }) => [path, severity])).toEqual([['providers[0].driver', 'warning']]);
    expect(told[0]?.message).toContain('the same for "two"');
  });
});
