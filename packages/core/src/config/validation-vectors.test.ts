import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { listInstalledDrivers } from '../discovery/list-drivers.js';
import { createDriverRegistry } from '../discovery/registry.js';
import { tempDir } from '../test-support/temp-dir.js';
import { loadConfig } from './load-config.js';

interface Vector {
  note: string;
  yaml: string;
  wantedExit: 0 | 1;
}

const here = dirname(fileURLToPath(import.meta.url));
const { vectors } = JSON.parse(readFileSync(join(here, '../../test/fixtures/config-validation.json'), 'utf8')) as {
  vectors: Vector[];
};

/** The drivers of this workspace, found as an installation finds them. */
const places = { searchFrom: [here], conditions: ['@nodepool/source'] };
const installed = (await listInstalledDrivers(places)).map(({ name }) => name);

/** The one driver a vector is about, if any. */
function driverOf({ yaml }: Vector): string | undefined {
  return yaml.includes('providers:') ? (/driver: (\w+)/.exec(yaml)?.[1] ?? 'openstack') : undefined;
}

function isJudgedFully(vector: Vector): boolean {
  const driver = driverOf(vector);
  return driver === undefined || installed.includes(driver);
}

async function validate(yaml: string): Promise<{ exit: 0 | 1; message: string }> {
  const file = join(tempDir({ 'nodepool.yaml': yaml }), 'nodepool.yaml');
  try {
    await loadConfig({ file, env: {}, drivers: createDriverRegistry(places), mode: 'validate' });
    return { exit: 0, message: '' };
  } catch (error) {
    return { exit: 1, message: error instanceof Error ? error.message : String(error) };
  }
}

describe('config-validate as the collected examples want it', () => {
  it.each(vectors.filter(isJudgedFully))('$note: exit $wantedExit', async ({ yaml, wantedExit }) => {
    const { exit, message } = await validate(yaml);

    expect(exit, message).toBe(wantedExit);
  });

  it('has the drivers of the workspace at hand', () => {
    expect(installed).toContain('static');
  });
});

describe('examples whose driver is not installed', () => {
  it.each(vectors.filter((vector) => !isJudgedFully(vector)))('$note: says only that', async ({ yaml }) => {
    const { message } = await validate(yaml);

    expect(message).toMatch(/^[^\n]*: providers\[0\]\.driver: driver "\w+" is not installed [^\n]*npm install [^\n]*$/);
  });
});
