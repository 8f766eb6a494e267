import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConfig, type ConfigProblem } from '@nodepool/core/config';
import { registryOf } from '@nodepool/core/testing';
import type { DriverName, KubernetesProviderConfig } from '../src/config.js';
import { driver, openshiftDriver, openshiftPodsDriver } from '../src/index.js';

const DRIVERS = { kubernetes: driver, openshift: openshiftDriver, openshiftpods: openshiftPodsDriver };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodepool-lenient-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Loaded {
  readonly provider: KubernetesProviderConfig;
  readonly warnings: readonly ConfigProblem[];
}

/** Loads a file as a launcher does. */
async function load(name: DriverName, keys: string): Promise<Loaded> {
  const file = join(folder, 'nodepool.yaml');
  await writeFile(file, `labels: [{name: a}]\nproviders: [{name: p, driver: ${name}, ${keys}}]\n`);
  const config = await loadConfig({ file, env: {}, drivers: registryOf(DRIVERS[name]), mode: 'service' });
  return { provider: config.providers.get('p') as KubernetesProviderConfig, warnings: config.warnings };
}

const pool = (keys: string) => `pools: [{name: m, labels: [{name: a, ${keys}}]}]`;
const labelIn = ({ provider }: Loaded) => provider.pools.get('m')?.labels.get('a');

it.each<[string, DriverName, string, RegExp | undefined, object]>([
  [
    'a label with spec and other keys of a pod',
    'kubernetes',
    pool('type: pod, spec: {containers: []}, image: x, cpu: 2'),
    /has a spec, which replaces image, cpu: they have no effect/,
    { spec: { containers: [] } },
  ],
  ['an unknown type', 'kubernetes', pool('type: container, image: x'), /taken as "pod"/, { type: 'pod' }],
  ['an unknown type', 'openshift', `context: c, ${pool('type: x, image: x')}`, /taken as "pod"/, { type: 'pod' }],
  [
    'image-pull: always',
    'kubernetes',
    pool('type: pod, image: x, image-pull: always'),
    /the cluster refuses such pods/,
    { imagePull: 'always' },
  ],
  [
    'negative numbers',
    'kubernetes',
    `schedule-timeout: -1, ${pool('type: pod, image: x, cpu: -2, gpu: -1, extra-resources: {x: -1}')}`,
    /taken as if the key were not there/,
    { requests: { cpu: undefined, memoryMib: undefined, storageMb: undefined }, gpu: undefined, extraResources: {} },
  ],
  ["context: ''", 'kubernetes', `context: '', ${pool('type: pod, image: x')}`, undefined, { type: 'pod' }],
  ["context: ''", 'openshiftpods', `context: '', ${pool('image: x')}`, /the current context/, { type: 'pod' }],
  [
    'secrets as texts',
    'kubernetes',
    pool('type: pod, image: x, image-pull-secrets: [s]'),
    undefined,
    { imagePullSecrets: [{ name: 's' }] },
  ],
  [
    'volumes as texts',
    'kubernetes',
    pool('type: pod, image: x, volumes: [v], volume-mounts: [v]'),
    /the cluster refuses an entry that is no map/,
    { volumes: ['v'] },
  ],
  ['labels: null', 'kubernetes', pool('type: pod, image: x, labels: null'), /taken as/, { labels: {} }],
  [
    'dynamic labels with numbers',
    'kubernetes',
    pool('type: pod, image: x, dynamic-labels: {n: 5, b: true}'),
    undefined,
    { dynamicLabels: { n: '5', b: 'true' } },
  ],
  ['a token-expiry of a minute', 'kubernetes', `token-expiry: 60, ${pool('type: pod, image: x')}`, /600 s/, {}],
])('%s of %s is no reason not to start', async (_what, name, keys, warning, label) => {
  const loaded = await load(name, keys);

  expect(labelIn(loaded)).toMatchObject(label);
  const said = loaded.warnings.map(({ message }) => message).join('\n');
  if (warning) expect(said).toMatch(warning);
});

it.each(['a.b', 'Main', 'x'.repeat(53)])('a pool "%s" is no reason not to start', async (name) => {
  const { warnings, provider } = await load(
    'kubernetes',
    `pools: [{name: ${name}, labels: [{name: a, type: namespace}]}]`,
  );

  expect([...provider.pools.keys()]).toEqual([name]);
  expect(warnings.map(({ message }) => message).join()).toContain(`the cluster refuses the nodes of pool "${name}"`);
});
