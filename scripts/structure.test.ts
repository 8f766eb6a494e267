// Rules about the repository as a whole that no linter knows.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DRIVER_API_VERSION } from '@nodepool/core';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { allPackages, examples, LONGEST, tooLong } from './lengths.mjs';
import { outdatedFiles, webAddress } from './manifests.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Files of the repository, tracked or about to be. */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(`${root}${file}`));

const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8');

interface Manifest {
  name: string;
  private?: boolean;
  version: string;
  license?: string;
  type?: string;
  engines?: Record<string, string>;
  files?: string[];
  publishConfig?: Record<string, unknown>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const packages = files
  .filter((file) => /^(packages\/[^/]+|tools\/[^/]+|e2e|quickstart|simulator)\/package\.json$/.test(file))
  .map((file) => ({ dir: file.replace('/package.json', ''), manifest: JSON.parse(read(file)) as Manifest }));
const published = packages.filter(({ manifest }) => manifest.private !== true);

const ours = (dependencies: Record<string, string> = {}): string[] =>
  Object.keys(dependencies)
    .filter((name) => name.startsWith('@nodepool/'))
    .map((name) => name.replace('@nodepool/', ''));

/**
 * The drawing of the architecture:
 * cli, launcher, builder -> core -> zk-protocol; cli, launcher -> history -> core; cli -> client; driver-* -> core, as a peer. The
 * user who installs a service chooses the drivers.
 */
function mayDependOn(name: string, other: string): boolean {
  if (name === 'zk-protocol' || name === 'client') return false;
  if (name === 'core') return other === 'zk-protocol';
  if (name.startsWith('driver-openshift')) return other === 'driver-kubernetes'; // other names of that package
  if (name.startsWith('driver-') || name === 'create-driver') return false;
  if (other === 'daemon') return name === 'launcher' || name === 'builder';
  if (other === 'client') return name === 'cli';
  if (other === 'history') return name === 'launcher' || name === 'cli';
  return other === 'core' || other === 'zk-protocol';
}

describe('package.json files', () => {
  it.each(published)('$dir depends only on what the drawing of the architecture allows', ({ manifest }) => {
    const name = manifest.name.replace('@nodepool/', '');

    const wrong = ours(manifest.dependencies).filter((other) => !mayDependOn(name, other));

    expect(wrong).toEqual([]);
  });

  it.each(published)(
    '$dir has peers if and only if it is a driver: one copy of core, and of zk-protocol below it',
    ({ dir, manifest }) => {
      const peers = ours(manifest.peerDependencies);

      expect(peers.includes('core')).toBe(dir.startsWith('packages/driver-'));
      expect(peers.filter((name) => name !== 'core' && name !== 'zk-protocol')).toEqual([]);
    },
  );

  it('of core has the version of the driver API as its major version, which the peer ranges of drivers follow', () => {
    const core = packages.find(({ dir }) => dir === 'packages/core');

    expect(core?.manifest.version.split('.')[0]).toBe(String(DRIVER_API_VERSION));
  });

  it('and READMEs say what the package.json of the repository says; `npm run manifests` writes them', () => {
    expect(outdatedFiles()).toEqual([]);
  });

  it.each(packages)('$dir refers in tsconfig.json to exactly the neighbours it declares', ({ dir, manifest }) => {
    const { references = [] } = JSON.parse(read(`${dir}/tsconfig.json`)) as { references?: { path: string }[] };
    const declared = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.peerDependencies };
    // what is loaded at run time, or used by tests alone, is not compiled against
    const isOptional = (name: string): boolean =>
      name.startsWith('driver-') || ['test-servers', 'fake-compute', 'incus', 'kubernetes'].includes(name);
    // these run everything, so they wait for all of it to be built
    const isWhole = ['e2e', 'quickstart', 'simulator'].includes(dir);
    const compiled = ours(declared).filter((name) => isWhole || !isOptional(name));
    const referenced = references.map(({ path }) => basename(path)).filter((name) => isWhole || !isOptional(name));

    expect(referenced.sort()).toEqual(compiled.sort());
  });

  it.each(published)('$dir is fit to be published', ({ dir, manifest }) => {
    expect(manifest).toMatchObject({
      license: 'Apache-2.0',
      type: 'module',
      engines: { node: '>=20.19' },
      publishConfig: { access: 'public' },
      repository: { type: 'git', directory: dir },
      scripts: { build: 'tsc -b', prepack: 'node ../../scripts/prepack.mjs' },
    });
    expect(manifest.files).toEqual(expect.arrayContaining(['dist', '!dist/**/*.test.*', 'README.md', 'LICENSE']));
    expect(['README.md', 'LICENSE'].filter((name) => !existsSync(`${root}${dir}/${name}`))).toEqual([]);
  });
});

describe('classes and functions', () => {
  it(`are no longer than ${LONGEST.class} and ${LONGEST.function} lines, but where a comment says why a function is`, () => {
    const found = [...allPackages(), ...examples()].flatMap((folder) => tooLong(folder));

    expect(found.map(({ kind, name, lines, file }) => `${kind} ${name}: ${lines} lines, ${file}`)).toEqual([]);
  });
});

describe('what is published', () => {
  const shipped = files.filter(
    (file) =>
      /^packages\/[^/]+\/(src|bin)\//.test(file) && /\.(ts|js|mjs|cjs)$/.test(file) && !file.endsWith('.test.ts'),
  );

  it('imports no test runner and no test server', () => {
    const imports =
      /(from|import|require\()\s*\(?['"](vitest|fast-check|@nodepool\/(test-servers|fake-compute|incus|kubernetes|openstack))['"]/;

    expect(shipped.length).toBeGreaterThan(400);
    expect(shipped.filter((file) => imports.test(read(file)))).toEqual([]);
  });

  it('has no test support: that is in the test folder of its package', () => {
    const imports = /(from|import|require\()\s*\(?['"][./]+\/test\//;
    const support = shipped.filter((file) => /\/(test|tests|support|fixtures|mocks?)\//.test(file));

    expect(support).toEqual([]);
    expect(shipped.filter((file) => imports.test(read(file)))).toEqual([]);
  });

  it.each(published.filter(({ manifest }) => manifest.files?.includes('src')))(
    '$dir leaves out its tests and its test folder',
    ({ manifest }) => {
      expect(manifest.files).toContain('!src/**/*.test.ts');
      expect(manifest.files).not.toContain('test');
    },
  );
});

describe('the root of core', () => {
  it('exports at most 90 names, types included: what an author of drivers uses', () => {
    const index = ts.createSourceFile('index.ts', read('packages/core/src/index.ts'), ts.ScriptTarget.Latest);
    const names = index.statements
      .filter(ts.isExportDeclaration)
      .flatMap(({ exportClause }) =>
        exportClause && ts.isNamedExports(exportClause) ? [...exportClause.elements] : [],
      )
      .map(({ name }) => name.text);

    expect(index.statements.filter((statement) => !ts.isExportDeclaration(statement))).toEqual([]);
    expect(names).toContain('defineStateMachineDriver');
    expect(names.length).toBeLessThanOrEqual(90);
  });
});

describe('links in READMEs of published packages', () => {
  it.each(published)('$dir: to the repository lead to a file, and none works in a checkout alone', ({ dir }) => {
    const targets = [...read(`${dir}/README.md`).matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
    const base = `${webAddress()}/blob/main/`;
    const ofRepository = targets.filter((target) => target.startsWith(base));

    const dead = ofRepository.filter((target) => !existsSync(`${root}${target.slice(base.length).replace(/#.*/, '')}`));
    const relative = targets.filter((target) => !/^(https?:|#)/.test(target));

    expect(dead).toEqual([]);
    expect(relative).toEqual([]);
  });
});

describe('files', () => {
  it('contain no address of a package registry', () => {
    // put together here, so that this file does not contain one either
    const hosts = ['npmjs', 'yarnpkg'].map((host) => new RegExp(`registry\\.${host}\\.`));

    const found = files.filter((file) => hosts.some((host) => host.test(read(file))));

    expect(found).toEqual([]);
  });

  it('have kebab-case names that say what is inside', () => {
    const sources = files.filter((file) =>
      /^(packages|tools|e2e|quickstart|simulator|examples|scripts)\/.*\.(ts|mjs|cjs|js)$/.test(file),
    );

    const wrong = sources.filter((file) => !/^\.?[a-z0-9]+([-.][a-z0-9]+)*$/.test(basename(file)));
    const vague = sources.filter((file) => /^(utils?|helpers?|common|misc)$/.test(basename(file, extname(file))));

    expect(wrong).toEqual([]);
    expect(vague).toEqual([]);
  });

  it('write log messages that start with a capital', () => {
    const sources = files.filter(
      (file) => /^(packages\/[^/]+|quickstart)\/src\/.*\.ts$/.test(file) && !file.endsWith('.test.ts'),
    );
    const message = /logger\.(?:debug|info|warn|error)\(\s*['"`](?<first>[^'"`$])/gi;

    const starts = sources.flatMap((file) =>
      [...read(file).matchAll(message)].map(({ groups }) => [file, groups?.['first']]),
    );
    const small = starts.filter(([, first = '']) => /[a-z]/.test(first));

    expect(starts.length).toBeGreaterThan(150);
    expect(small).toEqual([]);
  });

  it('name states of operations and of requests in kebab-case', () => {
    const sources = files.filter((file) => /^packages\/[^/]+\/src\/.*\.ts$/.test(file));

    const states = sources.flatMap((file) => [...read(file).matchAll(/(?:goto\(\{ |readonly )name: '([^']+)'/g)]);
    const names = states.map(([, name = '']) => name);

    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => !/^[a-z]+(-[a-z]+)*$/.test(name))).toEqual([]);
  });

  it('skip no test and single none out', () => {
    const tests = files.filter((file) => file.endsWith('.test.ts'));

    const skipping = tests.filter((file) => /\b(it|test|describe)\.(skip|only|todo|skipIf|runIf)\b/.test(read(file)));

    expect(skipping.filter((file) => file !== 'scripts/structure.test.ts')).toEqual([]);
  });
});

it('no package is packed with what tsc remembers of its last run', () => {
  const packed = packages.filter(({ manifest }) => manifest.files?.includes('dist'));

  expect(packed.filter(({ manifest }) => !manifest.files?.includes('!dist/.tsbuildinfo'))).toEqual([]);
});
