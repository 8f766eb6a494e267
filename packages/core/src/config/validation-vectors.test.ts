import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../test-support/temp-dir.js';
import { plainDriver, registryOf } from '../test-support/plain-driver.js';
import { loadConfig } from './load-config.js';

interface Vector {
  note: string;
  yaml: string;
  wantedExit: 0 | 1;
}

const { vectors } = JSON.parse(
  readFileSync(new URL('../../test/fixtures/config-validation.json', import.meta.url), 'utf8'),
) as { vectors: Vector[] };

/** Vectors about drivers are judged here only by what core checks; each driver's own tests judge the rest. */
const isAboutCore = ({ yaml }: Vector) => !yaml.includes('providers:');

async function exitCode(yaml: string, drivers = registryOf()): Promise<{ exit: 0 | 1; message: string }> {
  const file = join(tempDir({ 'nodepool.yaml': yaml }), 'nodepool.yaml');
  try {
    await loadConfig({ file, env: {}, drivers, mode: 'validate' });
    return { exit: 0, message: '' };
  } catch (error) {
    return { exit: 1, message: error instanceof Error ? error.message : String(error) };
  }
}

describe('config-validate as the collected examples want it', () => {
  it.each(vectors.filter(isAboutCore))('$note: exit $wantedExit', async ({ yaml, wantedExit }) => {
    const { exit, message } = await exitCode(yaml);

    expect(exit, message).toBe(wantedExit);
  });

  it.each(vectors.filter((vector) => !isAboutCore(vector)))(
    '$note: nothing but the driver is missing',
    async ({ yaml }) => {
      const { message } = await exitCode(yaml);

      expect(message).toMatch(/^[^\n]*providers\[0\]\.driver: driver "\w+" is not installed[^\n]*$/);
    },
  );

  it('passes a provider whose driver accepts it', async () => {
    const yaml = 'labels: [{name: l}]\nproviders: [{name: x, driver: plain}]';

    expect((await exitCode(yaml, registryOf(plainDriver('plain')))).exit).toBe(0);
  });
});
