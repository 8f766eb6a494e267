import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, encodeNode, newNode, NODE_CREATE_PATH, nodeLockPath, type ZooKeeper } from '@nodepool/zk-protocol';
import { findEmbeddedServer } from '@nodepool/core/config';
import { startSshd, type SshdHandle } from '@nodepool/test-servers';
import { LauncherProcess } from '../launcher-process.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';

/** The part of the driver's fake cloud that these tests use. The package does not export the fake. */
interface FakeCloud {
  readonly entry: Record<string, unknown>;
  readonly state: {
    readonly flavors: { id: string; name: string; vcpus: number; ram: number }[];
    readonly tokens: Map<string, number>;
  };
  readonly faults: { status: number }[];
  password: string;
  listen(): Promise<unknown>;
  close(): Promise<void>;
}

/** A condition as all instruments report it. Its message is `text` in doctor and `message` elsewhere. */
interface Shown {
  readonly kind: string;
  readonly name: string;
  readonly type: string;
  readonly severity: string;
  readonly reason: string;
}

const FAKE = new URL('../../../packages/driver-openstack/test/fake/fake-openstack.ts', import.meta.url);
/** Upper limit of the pause before the next probe, plus time for the services themselves. */
const PATIENCE_MS = 2 * SOON_MS;
/** Flavor of each label. The cloud has no `m1.huge` at first. */
const FLAVORS = { small: 'm1.small', huge: 'm1.huge' };

let dir: string;
let cloud: FakeCloud;
let sshd: SshdHandle;
let launcher: LauncherProcess;
let zk: ZooKeeper;

function configOf({ hasRack = true } = {}): Record<string, unknown> {
  const made = Object.entries(FLAVORS).map(([name, flavor]) => ({
    name,
    'cloud-image': 'debian',
    'flavor-name': flavor,
  }));
  const pool = { name: 'main', 'host-key-checking': false, networks: ['public'], labels: made };
  const { address, port, hostKeys } = sshd.hosts[0] ?? { address: '', port: 0, hostKeys: [] };
  const host = {
    name: address,
    labels: ['metal'],
    username: 'root',
    timeout: 2,
    'connection-port': port,
    'host-key': hostKeys,
  };
  const sky = {
    ...{ name: 'sky', driver: 'openstack', cloud: 'sky', rate: 0, 'launch-retries': 1 },
    ...{ 'cloud-images': [{ name: 'debian', username: 'zuul' }], pools: [pool] },
  };
  const rack = { name: 'rack', driver: 'static', pools: [{ name: 'main', nodes: [host] }] };
  const labels = [{ name: 'small', 'min-ready': 1 }, { name: 'huge' }, ...(hasRack ? [{ name: 'metal' }] : [])];
  return { labels, providers: [sky, ...(hasRack ? [rack] : [])] };
}

/** Writes `clouds.yaml` with the password that the cloud accepts now. */
function writeClouds(): Promise<void> {
  return writeFile(join(dir, 'clouds.yaml'), JSON.stringify({ clouds: { sky: cloud.entry } }));
}

/** Name of the host in conditions. */
function hostName(): string {
  const { address, port } = sshd.hosts[0] ?? { address: '', port: 0 };
  return `rack/root@${address}:${port}`;
}

async function nodepool(...args: string[]): Promise<string> {
  const command = NodepoolProcess.start([...launcher.commonOptions, ...args]);
  await command.end();
  return command.stdout;
}

const briefly = ({ kind, name, type, reason }: Shown) => `${kind} ${name} ${type} ${reason}`;

/** Conditions reported by each instrument, without warnings about this machine. */
async function told() {
  const doctor = JSON.parse(await nodepool('doctor', '--json')) as Shown[];
  const health = (await launcher.getJson('/healthz')) as { status: string; conditions: Shown[] };
  const api = (await launcher.getJson('/api/v1/conditions')) as Shown[];
  const labels = JSON.parse(await nodepool('labels', '--json')) as { label: string; condition: string | null }[];
  const published = doctor.filter(
    ({ type, reason }) => type !== 'SlowAnswers' && `${type} ${reason}` !== 'ConfigurationProblem Invalid',
  );
  return {
    doctor: published.map(briefly).sort(),
    health: health.conditions.map(briefly).sort(),
    api: api.map(briefly).sort(),
    status: health.status,
    labels: labels.flatMap(({ label, condition }) => (condition === null ? [] : label)).sort(),
    isError: health.conditions.some(({ severity }) => severity === 'error'),
  };
}

/** Waits until all instruments report these conditions and agree. */
async function agreeOn(expected: readonly string[], labels: readonly string[]): Promise<void> {
  const agreed = async () => {
    const { doctor, health, api, ...others } = await told();
    const missing = expected.filter((each) => !health.includes(each));
    const agree = JSON.stringify(doctor) === JSON.stringify(health) && JSON.stringify(api) === JSON.stringify(health);
    return { ...others, missing, differ: agree ? [] : { doctor, health, api } };
  };
  await expect
    .poll(agreed, { timeout: PATIENCE_MS, interval: 1_000 })
    .toMatchObject({ missing: [], differ: [], labels: expect.arrayContaining([...labels]) as string[] });
  const { status, isError } = await told();
  expect(status).toBe(isError ? 'degraded' : 'ok');
}

/** Waits until no instrument reports a condition. */
async function allWell(): Promise<void> {
  await expect
    .poll(told, { timeout: PATIENCE_MS, interval: 1_000 })
    .toEqual({ doctor: [], health: [], api: [], status: 'ok', labels: [], isError: false });
}

/** Replaces the unused node of a provider, so that the provider has work. */
async function stirUp(wanted: string): Promise<void> {
  const nodes = JSON.parse(await nodepool('list', '--json')) as { id: string; provider: string; state: string }[];
  const node = nodes.find(({ provider, state }) => provider === wanted && state === 'ready');
  if (node) await nodepool('delete', node.id);
}

beforeAll(async () => {
  const { FakeOpenStack } = (await import(FAKE.href)) as { FakeOpenStack: new () => FakeCloud };
  cloud = new FakeOpenStack();
  [dir, sshd] = await Promise.all([
    mkdtemp(join(tmpdir(), 'nodepool-conditions-')),
    startSshd({ count: 1, keyTypes: ['ed25519'] }),
    cloud.listen(),
  ]);
  await writeClouds();
  const env = { OS_CLIENT_CONFIG_FILE: join(dir, 'clouds.yaml') };
  launcher = await LauncherProcess.start(dir, 'launcher', configOf(), env);
  await launcher.whenReady();
  const found = await findEmbeddedServer([join(dir, 'state')]);
  zk = await connect({ ...found, servers: found?.servers ?? '' });
}, 2 * SOON_MS);

afterAll(async () => {
  await zk.close();
  await launcher.stop();
  await Promise.all([cloud.close(), sshd.stop()]);
  await rm(dir, { recursive: true, force: true });
});

const TIMEOUT_MS = 2 * PATIENCE_MS + SOON_MS;

it('every instrument reports a missing flavor until it exists', { timeout: TIMEOUT_MS }, async () => {
  await agreeOn(['label sky/main/huge LabelUnusable FlavorMissing', 'label huge NotServed LabelUnavailable'], ['huge']);

  cloud.state.flavors.push({ id: 'f-9', name: 'm1.huge', vcpus: 8, ram: 16_384 });

  await allWell();
});

// Ends: LaunchesFail Unauthorized
it('every instrument reports a refused password until it is correct', { timeout: TIMEOUT_MS }, async () => {
  cloud.password = 'rotated';
  cloud.state.tokens.clear();
  await stirUp('sky');

  await agreeOn(
    ['provider sky LoginRefused Unauthorized', 'provider sky LaunchesFail Unauthorized'],
    ['small', 'huge'],
  );
  await writeClouds();

  await allWell();
});

it('every instrument reports a provider as down until it is up', { timeout: TIMEOUT_MS }, async () => {
  cloud.faults.push({ status: 503 });
  await stirUp('sky');

  await agreeOn(['provider sky LaunchesFail Unavailable', 'label small NotServed ProviderFails'], ['small', 'huge']);
  cloud.faults.length = 0;

  await allWell();
});

// Ends: HostUnusable NoAnswer, NotServed NoNodes
it('every instrument reports a static host as down until it is up', { timeout: TIMEOUT_MS }, async () => {
  await sshd.hosts[0]?.stop();
  await stirUp('rack');

  await agreeOn([`host ${hostName()} HostUnusable NoAnswer`, 'label metal NotServed NoNodes'], ['metal']);
  await sshd.hosts[0]?.start();

  await allWell();
});

// Ends: DeletionTakesLong StillInCloud
it('every instrument reports a node stuck in deleting until it is gone', { timeout: TIMEOUT_MS }, async () => {
  const where = {
    provider: 'sky',
    pool: 'main',
    labels: ['small'],
    externalId: 'f0f0f0f0-0000-4000-8000-000000000000',
  };
  const node = newNode({ state: 'ready', ...where }, Date.now());
  const path = await zk.create(NODE_CREATE_PATH, encodeNode(node), { sequential: true });
  const id = path.slice(path.lastIndexOf('/') + 1) as Parameters<typeof nodeLockPath>[0];
  await zk.ensurePath(nodeLockPath(id));
  const lock = await zk.create(`${nodeLockPath(id)}/other__lock__`, '', { sequential: true, ephemeral: true });
  await zk.setData(path, encodeNode({ ...node, state: 'deleting', stateTimeMs: Date.now() - 600_000 }));

  await agreeOn([`node ${id} DeletionTakesLong StillInCloud`], []);
  await zk.delete(lock);

  await allWell();
});

// Ends: Draining LeftConfiguration
it('every instrument reports a draining provider until its nodes are gone', { timeout: TIMEOUT_MS }, async () => {
  const nodes = JSON.parse(await nodepool('list', '--json')) as { id: string; provider: string }[];
  const { id = '' } = nodes.find(({ provider }) => provider === 'rack') ?? {};
  await nodepool('hold', id);
  await launcher.rewriteConfig(configOf({ hasRack: false }));
  launcher.signal('SIGHUP');

  await agreeOn(['provider rack Draining LeftConfiguration'], []);
  const advice = await nodepool('doctor');
  const erased = NodepoolProcess.start([...launcher.commonOptions, 'erase', 'rack']);
  await erased.end();
  await nodepool('delete', id);

  expect(advice).not.toContain('erase');
  expect(erased.stderr).toContain(`provider "rack" has nodes with instances: ${id} (hold)`);
  await allWell();
});
