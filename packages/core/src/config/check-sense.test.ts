import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../contract/errors.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
import { tempDir } from '../../test/support/temp-dir.js';
import { loadConfig } from './load-config.js';
import { formatProblem } from './problems.js';
import type { Config, ConfigMode } from '../contract/config.js';

function load(yaml: string, mode: ConfigMode): Promise<Config> {
  const drivers = registryOf(plainDriver('plain'));
  return loadConfig({ file: join(tempDir({ 'n.yaml': yaml }), 'n.yaml'), env: {}, drivers, mode });
}

/** All problems of a file, without its folder. */
async function said(yaml: string, mode: ConfigMode): Promise<string[]> {
  const problems = await load(yaml, mode).then(
    ({ warnings }) => warnings,
    (error: unknown) => (error instanceof ConfigError ? error.problems : Promise.reject(error as Error)),
  );
  return problems.map((problem) => formatProblem(problem).replace(/^\S*\//, ''));
}

describe('an implausible number', () => {
  it.each([
    [
      'tenant-resource-limits: [{tenant-name: t, max-servers: -4}]',
      'n.yaml:1:56: tenant-resource-limits[0].max-servers: -4 gives the tenant nothing; write 0 for nothing, or leave it out for no limit',
    ],
    [
      'tenant-resource-limits: [{tenant-name: t, gpus: -1}]',
      'n.yaml:1:49: tenant-resource-limits[0].gpus: -1 gives the tenant nothing; write 0 for nothing, or leave it out for no limit',
    ],
    [
      'labels: [{name: a, max-ready-age: -3}]',
      'n.yaml:1:35: labels[0].max-ready-age: -3 is no age; write 0, or leave it out: ready nodes are never too old',
    ],
    [
      'diskimages: [{name: a, build-timeout: -1}]',
      'n.yaml:1:39: diskimages[0].build-timeout: expected a number of seconds, got -1',
    ],
  ])('%s is a warning', async (yaml, problem) => {
    const warning = problem.replace(/(: \S+: )/, '$1warning: ');
    expect(await said(yaml, 'validate')).toEqual([warning]);
    expect(await said(yaml, 'service')).toEqual([warning]);
  });

  it.each([
    [
      'labels: [{name: a, min-ready: -5}]',
      'n.yaml:1:31: labels[0].min-ready: warning: -5 keeps no free nodes, as 0 does; to switch the label off write -1',
    ],
    [
      'lease-ca-key: lease_ca',
      'n.yaml:1:15: lease-ca-key: "lease_ca" is no absolute path: write the whole path of the private key, from /',
    ],
    ['max-hold-age: -7', 'n.yaml:1:15: max-hold-age: warning: -7 means no limit: write 0, or leave it out'],
    [
      'providers: [{name: p, driver: plain, pools: [{name: q, max-servers: -1}]}]',
      'n.yaml:1:69: providers[0].pools[0].max-servers: warning: -1 switches the pool off, as 0 does; for no limit leave it out',
    ],
  ])('%s has a meaning, and is a warning', async (yaml, problem) => {
    expect(await said(yaml, 'validate')).toEqual([problem]);
    expect(await said(yaml, 'service')).toEqual([problem]);
  });

  it('excludes numbers with a special meaning', async () => {
    const yaml = `
labels: [{name: a, min-ready: -1}, {name: b, max-ready-age: 0}]
max-hold-age: 0
build-log-retention: -1
tenant-resource-limits: [{tenant-name: t, max-servers: 0}]`;

    expect(await said(yaml, 'validate')).toEqual([]);
  });
});

describe('a label without a pool', () => {
  const provider = (label: string) =>
    `providers: [{name: p, driver: plain, pools: [{name: q, labels: [{name: ${label}}]}]}]`;

  it('is a warning at its position that states the consequence', async () => {
    const yaml = `labels: [{name: a}, {name: b}, {name: c, min-ready: 2}, {name: none, min-ready: -1}]\n${provider('a')}`;

    expect(await said(yaml, 'validate')).toEqual([
      'n.yaml:1:28: labels[1].name: warning: no pool offers label "b", so that nothing here serves requests for it: add it to a pool, or remove it',
      'n.yaml:1:39: labels[2].name: warning: no pool offers label "c", so that its 2 standby node(s) are not kept here: add it to a pool, or remove it',
    ]);
  });

  it('is not reported while an entry that may offer it has an error', async () => {
    expect(await said(`labels: [{name: a}]\n${provider('b')}`, 'validate')).toEqual([
      expect.stringContaining('label "b" is not defined'),
    ]);
  });

  it('is not reported for a file without providers', async () => {
    expect(await said('labels: [{name: a}]', 'validate')).toEqual([]);
  });
});
