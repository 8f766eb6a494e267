import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Json } from '@nodepool/zk-protocol';
import { errorLinesOf, linesAbout, loadWritten } from '../../test/support/load-config.js';
import { createDriverRegistry } from './discovery/registry.js';
import type { Config } from '../contract/config.js';

/** The drivers of this workspace, unmodified. */
const drivers = createDriverRegistry({
  searchFrom: [dirname(fileURLToPath(import.meta.url))],
  conditions: ['@nodepool/source'],
});
const load = (yaml: string) => loadWritten({ yaml, drivers });
const saidInService = async (yaml: string) => (await linesAbout({ yaml, drivers })).filter(isAboutValues);
const refusals = (yaml: string) => errorLinesOf({ yaml, drivers, mode: 'validate' });

/** Clouds and servers are not what these files are about. */
function isAboutValues(line: string): boolean {
  return !/not encrypted|clouds\.yaml|no pool offers|no provider lists|neither "pools"|has no label|names no image/.test(
    line,
  );
}

/** Configuration that the driver read from the provider entry `p`. */
const provider = (config: Config) =>
  JSON.parse(JSON.stringify(config.providers.get('p'), replaceMaps)) as Record<string, Json>;
const pool = (config: Config) => (provider(config)['pools'] as Record<string, Record<string, Json>>)['m'];

function replaceMaps(_key: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}

const openstack = (keys: string) =>
  `labels: [{name: a}]\ndiskimages: [{name: i}]\nproviders:\n- {name: p, cloud: c, diskimages: [{name: i}], ${keys}}\n`;
const label = (keys: string) => openstack(`pools: [{name: m, labels: [{name: a, ${keys}}]}]`);

describe('files that services of Nodepool (Python) load', () => {
  it.each<[string, string, (config: Config) => unknown, unknown, RegExp]>([
    [
      'launch-retries: 0',
      openstack('launch-retries: 0'),
      (config) => provider(config)['launchRetries'],
      1,
      /^nodepool\.yaml:4:64: providers\[0\]\.launch-retries: warning: expected a number >= 1, got the number 0: one attempt is made$/,
    ],
    [
      'launch-timeout: 0',
      openstack('launch-timeout: 0'),
      (config) => provider(config)['launchTimeoutMs'],
      0,
      /: expected a number >= 1, got the number 0: each attempt fails at once$/,
    ],
    [
      'boot-timeout: 0',
      openstack('boot-timeout: 0'),
      (config) => provider(config)['bootTimeoutMs'],
      0,
      /: host keys are given up at once$/,
    ],
  ])('%s has a meaning, and the validator takes it too', async (_name, yaml, read, value, warning) => {
    expect(read(await load(yaml))).toEqual(value);
    expect(await saidInService(yaml)).toEqual([expect.stringMatching(warning)]);
    expect((await linesAbout({ yaml, drivers, mode: 'validate' })).filter(isAboutValues)).toEqual([
      expect.stringMatching(warning),
    ]);
  });

  it('networks as a list of maps, of 2016, have names or ids, and the validator refuses them', async () => {
    const yaml = openstack(
      'pools: [{name: m, networks: [{name: lan, public: true}, {net-label: wan}, {net-id: n1}, dmz]}]',
    );

    expect(pool(await load(yaml))?.['networks']).toEqual(['lan', 'wan', 'n1', 'dmz']);
    expect((await saidInService(yaml)).map((line) => line.slice(-22))).toEqual(
      Array(3).fill('its name or id counts'.padStart(22)),
    );
    expect((await refusals(yaml)).join()).toMatch(/networks\[0\]: expected text, got a map/);
  });

  it.each<[string, (config: Config) => unknown, unknown, RegExp]>([
    [
      'webapp:',
      (config) => config.webapp.port,
      8005,
      /:1:8: webapp: warning: expected a map, got nothing: taken as if the key were not there$/,
    ],
    ['labels:', (config) => config.labels.size, 0, /: labels: warning: expected a list, got nothing/],
    ['providers:', (config) => config.providers.size, 0, /: providers: warning: expected a list, got nothing/],
    [
      'labels: [{name: a, min-ready: }]',
      (config) => config.labels.get('a')?.minReady,
      0,
      /labels\[0\]\.min-ready: warning/,
    ],
    [
      'labels: [{name: a, min-ready: "2"}]',
      (config) => config.labels.get('a')?.minReady,
      2,
      /got text "2" \(write it without quotes\): taken as 2$/,
    ],
    [
      'labels: [{name: 5}]',
      (config) => [...config.labels.keys()],
      ['5'],
      /got the number 5 \(put it in quotes\): taken as "5"$/,
    ],
    [
      'labels: [{name: on}]',
      (config) => [...config.labels.keys()],
      ['True'],
      /got true \(put it in quotes\): taken as "True"$/,
    ],
    [
      'diskimages: [{name: i, release: 22.04}]',
      (config) => config.diskimages.get('i')?.release,
      '22.04',
      /got the number 22\.04 \(put it in quotes\): taken as "22\.04"$/,
    ],
    [
      'diskimages: [{name: i, release: 22.10}]',
      (config) => config.diskimages.get('i')?.release,
      '22.1',
      /got the number 22\.10 \(put it in quotes\): taken as "22\.1"$/,
    ],
    [
      'diskimages: [{name: i, pause: "false"}]',
      (config) => config.diskimages.get('i')?.pause,
      true,
      /expected true or false, got text "false": taken as true$/,
    ],
    [
      openstack('rate: , boot-timeout: 7.5'),
      (config) => provider(config)['bootTimeoutMs'],
      7_500,
      /boot-timeout: warning: expected an integer, got the number 7\.5: taken as it is$/,
    ],
    [
      openstack('pools: [{name: m, max-servers: }]'),
      (config) => pool(config)?.['maxServers'],
      null,
      /pools\[0\]\.max-servers: warning: expected an integer, got nothing: taken as if the key were not there$/,
    ],
    [
      openstack('pools: [{name: m, networks: }]'),
      (config) => pool(config)?.['networks'],
      [],
      /pools\[0\]\.networks: warning: expected a list, got nothing/,
    ],
    [
      openstack('pools: [{name: m, auto-floating-ip: }]'),
      (config) => pool(config)?.['autoFloatingIp'],
      false,
      /auto-floating-ip: warning: expected true or false, got nothing: taken as false$/,
    ],
    [openstack('pools: [{name: m, max-servers: "3"}]'), (config) => pool(config)?.['maxServers'], 3, /taken as 3$/],
    [
      openstack('cloud-images: [{name: x, image-id: one, image-name: two}]'),
      (config) => (provider(config)['cloudImages'] as Record<string, Record<string, Json>>)['x']?.['imageId'],
      'one',
      /"image-id" and "image-name" exclude each other: the image-id counts$/,
    ],
    [
      label('diskimage: i'),
      (config) => Object.keys(pool(config)?.['labels'] ?? {}),
      ['a'],
      /at least one of "min-ram" or "flavor-name": the smallest flavor serves$/,
    ],
    [
      'labels: [{name: a}]\nproviders:\n- name: p\n  driver: static\n  pools: [{name: m, nodes: [{name: h, labels: a, timeout: "9"}]}]',
      (config) => (pool(config)?.['hosts'] as Record<string, Json>[])[0]?.['timeoutMs'],
      9_000,
      /timeout: warning: .* taken as 9$/,
    ],
  ])('%s', async (yaml, read, value, warning) => {
    expect(read(await load(yaml))).toEqual(value);
    expect(await saidInService(yaml)).toContainEqual(expect.stringMatching(warning));
    expect(await refusals(yaml)).not.toEqual([]);
  });

  it('may end a list of maps of a provider early: it would take all its pools away, and the original refuses it too', async () => {
    expect(await errorLinesOf({ yaml: openstack('pools: '), drivers })).toEqual([
      'nodepool.yaml:4:55: providers[0].pools: expected a list, got nothing',
    ]);
  });
});

describe('sections with connection settings of ZooKeeper', () => {
  it.each(['zookeeper-servers', 'zookeeper-tls', 'zookeeper-digest'])('%s must not be empty', async (key) => {
    const yaml = `labels: []\n${key}:\n`;
    const refusal = [expect.stringMatching(`^nodepool\\.yaml:2:\\d+: ${key}: expected a (list|map), got nothing$`)];

    expect(await errorLinesOf({ yaml })).toEqual(refusal);
    expect(await errorLinesOf({ yaml: 'labels: []\n', secure: `\n${key}:\n` })).toHaveLength(1);
  });

  it('name at least one server', async () => {
    expect(await errorLinesOf({ yaml: 'labels: []\nzookeeper-servers: []\n' })).toEqual([
      expect.stringMatching(/^nodepool\.yaml:2:1: zookeeper-servers: the list is empty: name the servers, or leave/),
    ]);
  });
});

describe('names given twice', () => {
  const yaml = `labels: [{name: a, min-ready: 1}, {name: a, min-ready: 2}]
diskimages: [{name: i, rebuild-age: 5}, {name: i, rebuild-age: 6}]
tenant-resource-limits: [{tenant-name: t, max-servers: 1}, {tenant-name: t, max-servers: 2}]
providers:
- {name: p, driver: fake, max-concurrency: 1}
- name: p
  driver: fake
  max-concurrency: 2
  cloud-images: [{name: x, username: one}, {name: x, username: two}]
  pools:
  - {name: m, max-servers: 1, labels: [{name: a, cloud-image: x, min-ram: 1}]}
  - {name: m, max-servers: 2, labels: [{name: a, cloud-image: x, min-ram: 1}]}
- {name: s, driver: static, pools: [{name: m, max-servers: 1}, {name: m, max-servers: 2}]}
`;

  it('are warnings at the second position, and the last entry applies', async () => {
    const config = await load(yaml);

    expect(config.labels.get('a')?.minReady).toBe(2);
    expect(config.diskimages.get('i')?.rebuildAgeMs).toBe(6_000);
    expect(config.tenantLimits.get('t')).toEqual({ instances: 2 });
    expect([...config.providers.keys()]).toEqual(['p', 's']);
    expect(config.providers.get('p')).toMatchObject({ maxConcurrency: 2 });
    expect(pool(config)?.['maxServers']).toBe(2);
    expect(provider(config)['cloudImages']).toMatchObject({ x: { username: 'two' } });
    expect(config.providers.get('s')?.pools.get('m')?.maxServers).toBe(2);
    const said = (await saidInService(yaml)).map((line) => line.replace(/: warning: /, ' ').split(', the last')[0]);
    expect(said).toEqual([
      'nodepool.yaml:1:42: labels[1].name label "a" is already defined in line 1',
      'nodepool.yaml:2:48: diskimages[1].name diskimage "i" is already defined in line 2',
      'nodepool.yaml:3:74: tenant-resource-limits[1].tenant-name tenant "t" is already defined in line 3',
      'nodepool.yaml:6:9: providers[1].name provider "p" is already defined in line 5',
      'nodepool.yaml:9:51: providers[1].cloud-images[1].name cloud-image "x" is already defined in line 9',
      'nodepool.yaml:12:12: providers[1].pools[1].name pool "m" is already defined in line 11',
      'nodepool.yaml:13:71: providers[2].pools[1].name pool "m" is already defined in line 13',
    ]);
  });

  it('are errors of the validator only for diskimages, as in Nodepool (Python)', async () => {
    expect(await refusals(yaml)).toEqual([
      'nodepool.yaml:2:48: diskimages[1].name: diskimage "i" is already defined in line 2',
    ]);
  });
});

describe('what the validator of Nodepool (Python) distinguishes', () => {
  it.each([
    [
      'labels: [{name: a, min-ready: 5.0}]',
      'nodepool.yaml:1:31: labels[0].min-ready: expected an integer, got the number 5.0 (write 5)',
    ],
    [
      'diskimages: [{name: i, release: 9.0}]',
      'nodepool.yaml:1:33: diskimages[0].release: expected an integer, got the number 9.0 (write 9)',
    ],
    [
      'images-dir: 2024-01-31',
      'nodepool.yaml:1:13: images-dir: expected text, got the date 2024-01-31 (put it in quotes)',
    ],
    [
      'diskimages: [{name: i, env-vars: {A: 2024-01-31}}]',
      'nodepool.yaml:1:38: diskimages[0].env-vars.A: expected text, got something else (put it in quotes)',
    ],
  ])('%s', async (yaml, problem) => {
    expect(await refusals(yaml)).toEqual([problem]);
    await expect(load(yaml)).resolves.toMatchObject({});
  });

  it('keys that are not text: where all values are of one kind, and not where anything goes', async () => {
    const yaml = 'diskimages: [{name: i, env-vars: {8: a, "9": b}, metadata: {7: c}}]';

    expect(await refusals(yaml)).toEqual([
      'nodepool.yaml:1:35: diskimages[0].env-vars.8: the key "8" is not text, expected text: put it in quotes',
    ]);
    expect((await load(yaml)).diskimages.get('i')).toMatchObject({ envVars: { 8: 'a', 9: 'b' }, metadata: { 7: 'c' } });
  });

  it('writes the release of a build as Python does', async () => {
    const config = await load('diskimages: [{name: i, release: 9.0}, {name: j, release: 9}]');

    expect(config.diskimages.get('i')?.release).toBe('9.0');
    expect(config.diskimages.get('j')?.release).toBe('9');
  });

  it('accepts booleans as integers without a warning', async () => {
    expect(await linesAbout({ yaml: 'labels: [{name: a, min-ready: true}]', drivers, mode: 'validate' })).toEqual([]);
  });
});

describe('templates', () => {
  it('with format specifications load without a warning', async () => {
    const image = openstack("image-name-format: '{image_name:>12}-{timestamp!s:.5}-{{x}}'");
    const property = label("diskimage: i, min-ram: 1, dynamic-instance-properties: {a: '{request.id:>20}'}");

    expect(await saidInService(image)).toEqual([]);
    expect(await saidInService(property)).toEqual([]);
  });

  it('that cannot be filled are warnings at their position', async () => {
    const image = openstack("image-name-format: '{image_name}-{timestamp:%Y}'");
    const property = label(
      "diskimage: i, min-ram: 1, dynamic-instance-properties: {a: '{request.nope}', b: '{request.requestor_data[x][y]}'}",
    );

    expect(await saidInService(image)).toEqual([
      'nodepool.yaml:4:67: providers[0].image-name-format: warning: "{timestamp:%Y}" is not supported: "%Y" is no format of a text: uploads to this provider fail',
    ]);
    expect(await saidInService(property)).toEqual([
      expect.stringMatching(
        /^nodepool\.yaml:4:144: providers\[0\]\.pools\[0\]\.labels\[0\]\.dynamic-instance-properties\.a: warning: "\{request\.nope\}" does not exist, expected \{request\.id\}.*: instances do not get this property$/,
      ),
    ]);
  });
});
