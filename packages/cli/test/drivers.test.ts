import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nodepool } from './program.js';

const CODE = `export const driver = { name: 'sky', apiVersion: 1, capabilities: {}, schema: {},
  getProviderConfig() {}, getProvider() {} };`;

let folder = '';

/** Installs a driver package beside the configuration. */
async function installDriver(driver: string, apiVersion: number): Promise<void> {
  const path = join(folder, 'node_modules', `nodepool-driver-${driver}`);
  await mkdir(path, { recursive: true });
  const manifest = { name: `nodepool-driver-${driver}`, version: '1.2.3', type: 'module', exports: './index.js' };
  await writeFile(join(path, 'package.json'), JSON.stringify({ ...manifest, nodepool: { driver, apiVersion } }));
  await writeFile(join(path, 'index.js'), CODE);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodepool-drivers-'));
  await Promise.all([installDriver('sky', 1), installDriver('rain', 7)]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('lists drivers with version, API version and origin, and says what is wrong with one', async () => {
  const { stdout, stderr } = await nodepool('-c', join(folder, 'nodepool.yaml'), 'drivers');

  expect(stdout).toMatch(/\| Driver .*\| Package .*\| Version \| API \| Usable \| Path/);
  expect(stdout).toMatch(/\| sky +\| nodepool-driver-sky +\| 1\.2\.3 +\| 1 +\| True +\| .*nodepool-driver-sky/);
  expect(stdout).toMatch(/\| rain +\| nodepool-driver-rain +\| 1\.2\.3 +\| 7 +\| False +\|/);
  expect(stderr).toMatch(/nodepool-driver-rain 1\.2\.3 .* is made for driver API 7 .*: update Nodepool/);
});
