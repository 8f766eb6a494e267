import { copyFileSync, chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { DRIVER_API_VERSION } from '@nodepool/core';
import { loadConfig } from '@nodepool/core/config';
import { registryOf } from '@nodepool/core/testing';
import packageJson from '../package.json' with { type: 'json' };
import { driver } from '../src/index.js';

const examples = fileURLToPath(new URL('../examples/', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'nodepool-clouds-'));
afterAll(() => rmSync(dir, { recursive: true }));
/** As a file with passwords has to be: no other user may read it. */
const clouds = join(dir, 'clouds.yaml');
copyFileSync(new URL('fixtures/clouds.yaml', import.meta.url), clouds);
chmodSync(clouds, 0o600);
const drivers = registryOf(driver);

describe('the package', () => {
  it('exports the driver its manifest promises', () => {
    expect(packageJson.nodepool).toEqual({ driver: driver.name, apiVersion: driver.apiVersion });
    expect(driver.apiVersion).toBe(DRIVER_API_VERSION);
  });

  it.each(readdirSync(examples))('has a valid example %s', async (name) => {
    const env = { OS_CLIENT_CONFIG_FILE: clouds };
    const config = await loadConfig({ file: examples + name, env, drivers, mode: 'validate' });

    expect(config.warnings).toEqual([]);
    expect(config.providers.get('example-cloud')?.driverName).toBe('openstack');
  });
});
