import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../../../test/support/temp-dir.js';
import { readDriverPackage, resolveEntry, type DriverPackage } from './driver-package.js';

it('reads the driver declaration of a package, and resolves links', async () => {
  const manifest = {
    ...{ name: 'nodepool-driver-x', type: 'module', main: 'main.js', nodepool: { driver: 'x', apiVersion: '1' } },
    ...{ peerDependencies: { '@nodepool/core': '^1.0.0' } },
  };
  const dir = tempDir({ 'real/package.json': JSON.stringify(manifest) });
  symlinkSync(join(dir, 'real'), join(dir, 'link'));

  expect(await readDriverPackage(join(dir, 'link'))).toEqual({
    ...{ packageName: 'nodepool-driver-x', packageVersion: 'unknown', path: join(dir, 'real') },
    ...{ driver: 'x', apiVersion: undefined, entry: 'main.js', isModule: true },
    core: { dependency: undefined, peer: '^1.0.0' },
  });
});

it('ignores a folder without a manifest and a package that is not a driver', async () => {
  const dir = tempDir({ 'file/package.json': '{"nodepool": true}', 'a-file': '' });

  expect(await readDriverPackage(join(dir, 'missing'))).toBeUndefined();
  expect(await readDriverPackage(join(dir, 'a-file'))).toBeUndefined();
  expect(await readDriverPackage(join(dir, 'file'))).toBeUndefined();
});

it.each<[unknown, string | undefined]>([
  [undefined, '/x/index.js'],
  ['./main.js', '/x/main.js'],
  [{ '.': { types: './a.d.ts', import: './a.js', default: './b.js' } }, '/x/a.js'],
  [{ '.': { source: './a.ts', default: './b.js' } }, '/x/a.ts'],
  [{ '.': [{ browser: './a.js' }, './b.js'] }, '/x/b.js'],
  [{ node: { require: './a.cjs', default: './a.js' } }, '/x/a.js'],
  [{ './other': './a.js' }, undefined],
  [{ require: './a.cjs' }, undefined],
])('resolves the entry %j as Node does', (entry, file) => {
  const found = { entry, path: '/x' } as DriverPackage;

  expect(resolveEntry(found, ['source'])).toBe(file);
});
