import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DRIVER_API_VERSION } from '@nodepool/core';
import { loadConfig } from '@nodepool/core/config';
import { registryOf } from '@nodepool/core/testing';
import packageJson from '../package.json' with { type: 'json' };
import { driver } from '../src/index.js';

const examples = fileURLToPath(new URL('../examples/', import.meta.url));

describe('the package', () => {
  it('exports the driver its manifest promises', () => {
    expect(packageJson.nodepool).toEqual({ driver: driver.name, apiVersion: driver.apiVersion });
    expect(driver.apiVersion).toBe(DRIVER_API_VERSION);
  });

  it.each(readdirSync(examples))('has a valid example %s', async (name) => {
    const config = await loadConfig({ file: examples + name, env: {}, drivers: registryOf(driver), mode: 'validate' });

    expect(config.warnings).toEqual([]);
    expect(config.providers.get('cluster')?.driverName).toBe(driver.name);
  });
});
