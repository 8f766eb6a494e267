import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig, type ConfigProblem, type LoadConfigOptions } from '@nodepool/core/config';
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

/** Loads a file as a launcher does, unless options say otherwise. */
async function load(name: DriverName, keys: string, options: Partial<LoadConfigOptions> = {}): Promise<Loaded> {
  const file = join(folder, 'nodepool.yaml');
  await writeFile(file, `labels: [{name: a}]\nproviders: [{name: p, driver: ${name}, ${keys}}]\n`);
  const config = await loadConfig({ file, env: {}, drivers: registryOf(DRIVERS[name]), mode: 'service', ...options });
  return { provider: config.providers.get('p') as KubernetesProviderConfig, warnings: config.warnings };
}

const pool = (keys: string) => `pools: [{name: m, labels: [{name: a, ${keys}}]}]`;
const said = ({ warnings }: Loaded) => warnings.map(({ message }) => message).join('\n');
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
  [
    'a variable whose value is elsewhere, and one without a value',
    'kubernetes',
    pool('type: pod, image: x, env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: B}]'),
    undefined,
    { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }, { name: 'B' }] },
  ],
  ['no environment', 'kubernetes', pool('type: pod, image: x, env: '), /taken as if/, { env: [] }],
  ['a token-expiry of a minute', 'kubernetes', `token-expiry: 60, ${pool('type: pod, image: x')}`, /600 s/, {}],
])('%s of %s is no reason not to start', async (_what, name, keys, warning, label) => {
  const loaded = await load(name, keys);

  expect(labelIn(loaded)).toMatchObject(label);
  if (warning) expect(said(loaded)).toMatch(warning);
});

const TYPES = { kubernetes: 'type: pod, ', openshift: 'type: pod, ', openshiftpods: '' };
const DRIVER_NAMES = ['kubernetes', 'openshift', 'openshiftpods'] as const;

describe.each(DRIVER_NAMES)('a launcher with a provider of %s', (name) => {
  const label = (keys = '') => `{name: a, ${TYPES[name]}image: x${keys}}`;
  const provider = (keys: string, labels = label()) => `context: c, pools: [{${keys}, labels: [${labels}]}]`;

  it.each(['a.b', 'Main', 'x'.repeat(64), '"a b"', 'a_b', '"é"', '-a', '"."', '"a/b"'])(
    'starts with the pool %s, which the cluster refuses',
    async (pool) => {
      const loaded = await load(name, provider(`name: ${pool}`));

      const [only = ''] = loaded.provider.pools.keys();
      expect(JSON.stringify(only)).toContain(pool.replaceAll('"', ''));
      expect(said(loaded)).toContain(`the cluster refuses the nodes of pool "${only}"`);
    },
  );

  it.each([
    ...['max-servers', 'max-cores', 'max-ram', 'launch-timeout', 'launch-retries', 'rate', 'max-concurrency'],
    ...['schedule-timeout', 'priority'],
  ])('starts with %s: -3', async (key) => {
    const loaded = await load(name, `${key}: -3, ${provider('name: m')}`);

    expect(labelIn(loaded)).toMatchObject({ type: 'pod' });
  });

  it.each([
    ...['cpu', 'memory', 'storage', 'cpu-limit', 'memory-limit', 'storage-limit', 'gpu'],
    ...[
      'default-label-cpu',
      'default-label-memory',
      'default-label-storage',
      'max-resources: {x',
      'extra-resources: {x',
    ],
  ])('starts with %s: -3, which counts as absent', async (key) => {
    const amount = `${key}: -3${key.includes('{') ? '}' : ''}`;
    const isOfPool = /^(default|max)/.test(key);
    const loaded = await load(
      name,
      isOfPool ? provider(`name: m, ${amount}`) : provider('name: m', label(`, ${amount}`)),
    );

    const none = { cpu: undefined, memoryMib: undefined, storageMb: undefined };
    expect(labelIn(loaded)).toMatchObject({ requests: none, limits: none, gpu: undefined, extraResources: {} });
    expect(loaded.provider.pools.get('m')?.maxResources).toEqual({});
    expect(said(loaded)).toContain('expected a number >= 0, got the number -3: taken as if the key were not there');
  });
});

it('config-validate takes variables as the services do, and says with --as-original what the original refuses', async () => {
  const keys = pool('type: pod, image: x, env: [{name: A, valueFrom: {}}, {name: B, value: b}]');

  expect(said(await load('kubernetes', keys, { mode: 'validate' }))).not.toContain('valueFrom');
  const refusal = load('kubernetes', keys, { mode: 'validate', asOriginal: true });
  await expect(refusal).rejects.toThrow(/"value" is missing, which the original requires/);
  await expect(refusal).rejects.toThrow(/"valueFrom" is refused by config-validate of the original, although/);
});
