import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageFiles } from '../../../test/support/driver-packages.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { listInstalledDrivers, listUndeclared } from './list-drivers.js';

describe('the list of installed drivers', () => {
  it('shows each with its version and path, without loading it', async () => {
    const dir = tempDir({
      ...packageFiles('node_modules', '@nodepool/driver-static', { driver: 'static', code: 'throw 1' }),
      ...packageFiles('node_modules', '@acme/nodepool-driver-x', { apiVersion: 9 }),
      'node_modules/@nodepool/core/package.json': '{}',
      'node_modules/nodepool-driver-broken/package.json': '{',
    });

    expect(await listInstalledDrivers({ searchFrom: [dir] })).toEqual([
      expect.objectContaining({ name: 'static', packageName: '@nodepool/driver-static', isUsable: true }),
      expect.objectContaining({ name: 'x', packageVersion: '1.2.3', apiVersion: 9, isUsable: false }),
    ]);
  });

  it('omits a package shadowed by a nearer one of the same name', async () => {
    const dir = tempDir({
      ...packageFiles('node_modules', 'nodepool-driver-x', { driver: 'far' }),
      ...packageFiles('etc/node_modules', 'nodepool-driver-x', { driver: 'near' }),
    });

    const found = await listInstalledDrivers({ searchFrom: [join(dir, 'etc')] });

    expect(found.map(({ name }) => name)).toEqual(['near']);
  });
});

it('lists packages with the name of a driver that do not declare one, with the declaration to add', async () => {
  const dir = tempDir({
    'node_modules/@nodepool/driver-x/package.json': '{"name": "@nodepool/driver-x"}',
    'node_modules/@acme/driver-y/package.json': '{}',
    'node_modules/nodepool-driver-empty/readme': '',
    ...packageFiles('node_modules', 'nodepool-driver-z', { driver: 'z' }),
  });

  const found = await listUndeclared({ searchFrom: [dir] });

  expect(found.map(({ name, packageName }) => [name, packageName])).toEqual([['x', '@nodepool/driver-x']]);
  expect(found[0]?.problem).toContain('its author has to add "nodepool": {"driver": "x", "apiVersion": 1}');
});
