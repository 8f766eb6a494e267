import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.js';
import { inspectDrivers } from './inspect-drivers.js';
import { createDriverRegistry } from './discovery/registry.js';
import { tempDir } from '../../test/support/temp-dir.js';
import { loadConfig } from './load-config.js';

interface Vector {
  note: string;
  yaml: string;
  wantedExit: 0 | 1;
  /** That of the original's own config-validate. */
  originalExit: 0 | 1;
}

const here = dirname(fileURLToPath(import.meta.url));
const { vectors } = JSON.parse(readFileSync(join(here, '../../test/fixtures/config-validation.json'), 'utf8')) as {
  vectors: Vector[];
};

/**
 * The drivers of this workspace, found as in an installation. They are compiled as they are loaded, which takes long on a busy machine:
 * the time limit for that stands still.
 */
const places = { searchFrom: [here], conditions: ['@nodepool/source'], clock: new VirtualClock() };
const installed = (await inspectDrivers(places)).filter(({ problem }) => problem === undefined).map(({ name }) => name);

/** The driver of a vector, if any. */
function driverOf({ yaml }: Vector): string | undefined {
  return yaml.includes('providers:') ? (/driver: (\w+)/.exec(yaml)?.[1] ?? 'openstack') : undefined;
}

function isJudgedFully(vector: Vector): boolean {
  const driver = driverOf(vector);
  return driver === undefined || installed.includes(driver);
}

async function validate(yaml: string, asOriginal = false): Promise<{ exit: 0 | 1; message: string }> {
  const file = join(tempDir({ 'nodepool.yaml': yaml }), 'nodepool.yaml');
  try {
    await loadConfig({ file, env: {}, drivers: createDriverRegistry(places), mode: 'validate', asOriginal });
    return { exit: 0, message: '' };
  } catch (error) {
    return { exit: 1, message: error instanceof Error ? error.message : String(error) };
  }
}

describe('exit code of config-validate for the collected examples', () => {
  it.each(vectors.filter(isJudgedFully))('$note: exit $wantedExit', async ({ yaml, wantedExit }) => {
    const { exit, message } = await validate(yaml);

    expect(exit, message).toBe(wantedExit);
  });

  it('finds the drivers of the workspace', () => {
    expect(installed).toEqual(expect.arrayContaining(['fake', 'gce', 'metastatic', 'static']));
  });
});

describe('exit code of config-validate --as-original', () => {
  const accepted = vectors.filter((vector) => isJudgedFully(vector) && vector.wantedExit === 0);
  const served = vectors.filter((vector) => isJudgedFully(vector) && vector.originalExit === 0);

  it.each(accepted)('$note: exit $originalExit', async ({ yaml, originalExit }) => {
    const { exit, message } = await validate(yaml, true);

    expect(exit, message).toBe(originalExit);
  });

  it.each(served)('$note: reports no key of the original', async ({ yaml }) => {
    expect((await validate(yaml, true)).message).not.toContain('original');
  });
});

/** Additional problems of these examples in the settings common to all drivers. */
const COMMON_PROBLEMS: Readonly<Record<string, RegExp>> = {
  'both image kinds': /cloud-image "x" is not defined/,
  'label not top-level': /label "zz" is not defined/,
};

describe('examples whose driver cannot be used', () => {
  it.each(vectors.filter((vector) => !isJudgedFully(vector)))('$note: reports it once', async ({ note, yaml }) => {
    const [first = '', ...others] = (await validate(yaml)).message.split('\n');

    expect(first).toMatch(
      /: providers\[0\]\.driver: driver "\w+"( is not installed .*(npm install @nodepool|: install the)|: package @nodepool)/,
    );
    const common = COMMON_PROBLEMS[note];
    expect(others).toEqual(common === undefined ? [] : [expect.stringMatching(common)]);
  });
});
