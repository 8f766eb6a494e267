import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageFiles } from '../../../test/support/driver-packages.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { findDriver } from './find-driver.js';

const refusal = (name: string, dir: string): Promise<string> =>
  findDriver(name, { searchFrom: [dir] }).then(
    () => 'found',
    (error: Error) => error.message.replaceAll(dir, '<dir>'),
  );

it('finds a driver by its path, relative to the configuration or as a URL', async () => {
  const dir = tempDir(packageFiles('drivers', 'mine', { driver: 'x' }));
  const path = join(dir, 'drivers/mine');

  for (const name of ['./drivers/mine', path, `file://${path}`]) {
    expect(await findDriver(name, { searchFrom: [dir] })).toMatchObject({ driver: 'x', path });
  }
  expect(await refusal('./drivers', dir)).toMatch(
    /^driver ".\/drivers": <dir>\/drivers is no driver package, expected/,
  );
});

it('rejects a name that exists in two scopes, and explains how to choose', async () => {
  const dir = tempDir({
    ...packageFiles('node_modules', '@acme/nodepool-driver-x'),
    ...packageFiles('node_modules', '@zoo/nodepool-driver-x'),
  });

  expect(await refusal('x', dir)).toMatch(
    /provided by both @acme\/nodepool-driver-x and @zoo\/nodepool-driver-x, .* driver: "@acme\/nodepool-driver-x"/,
  );
  expect(await findDriver('@zoo/nodepool-driver-x', { searchFrom: [dir] })).toMatchObject({ driver: 'x' });
});

it('names the unreadable manifest', async () => {
  const dir = tempDir({ 'node_modules/nodepool-driver-x/package.json': '{' });

  expect(await refusal('x', dir)).toMatch(
    /^driver "x": <dir>\/node_modules\/nodepool-driver-x\/package.json cannot be read: /,
  );
});

it('ignores an unrelated package with the bare name', async () => {
  const dir = tempDir({ 'node_modules/static/package.json': '{}' });

  expect(await refusal('static', dir)).toContain('driver "static" is not installed');
});
