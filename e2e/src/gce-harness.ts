import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { COMPUTE_V1 } from '@nodepool/driver-gce';
import { FakeCompute, FakeTokens, type FakeComputeOptions } from '@nodepool/fake-compute';
import type { ZooKeeperOptions } from '@nodepool/test-servers';
import { systemClock } from '@nodepool/zk-protocol';
import { Harness, startGround } from './harness.js';
import { elasticNodeProblems } from './inventory.js';
import { LAUNCHER_SESSION_S } from './soon.js';

/** Settings of a Compute Engine provider in a test. */
export interface GceSetup {
  /** Keys of the provider entry. */
  provider?: Record<string, unknown>;
  /** Keys of the label. */
  label?: Record<string, unknown>;
  /** Keys of a second provider that differ from the first. */
  second?: Record<string, unknown>;
  /** Further top-level keys. */
  more?: Record<string, unknown>;
}

/** The `labels` and `providers` of nodepool.yaml: label `debian` of one provider. @param credentials - file */
export function gceConfig(setup: GceSetup, endpoint: string, credentials: string): Record<string, unknown> {
  const label = { name: 'debian', 'cloud-image': 'debian', 'instance-type': 'e2-standard-2', ...setup.label };
  const image = { name: 'debian', username: 'zuul', 'image-project': 'debian-cloud', 'image-family': 'debian-12' };
  const provider = {
    name: 'google',
    driver: 'gce',
    project: 'test-project',
    region: 'us-central1',
    endpoint,
    credentials,
    rate: 0,
    'cloud-images': [image],
    pools: [{ name: 'main', 'host-key-checking': false, labels: [label] }],
    ...setup.provider,
  };
  return {
    'zookeeper-timeout': LAUNCHER_SESSION_S,
    labels: [{ name: 'debian' }],
    providers: [provider, ...(setup.second ? [{ ...provider, name: 'second', ...setup.second }] : [])],
    ...setup.more,
  };
}

/** A Compute Engine on loopback with its token server. */
export interface GceCloud {
  readonly fake: FakeCompute;
  readonly tokens: FakeTokens;
  /** A key file whose tokens the API takes. */
  readonly credentials: string;
}

const REGIONS = {
  'us-central1': ['us-central1-a', 'us-central1-b', 'us-central1-f'],
  'europe-west1': ['europe-west1-b'],
};

/** Starts one. @param dir - for the key file */
export async function startGceCloud(dir: string, options: Partial<FakeComputeOptions> = {}): Promise<GceCloud> {
  const fake = await FakeCompute.start({
    description: COMPUTE_V1,
    clock: systemClock,
    bootMs: 300,
    deleteMs: 100,
    regions: REGIONS,
    ...options,
  });
  fake.setFamily('debian-cloud', 'debian-12', 'debian-12-v1');
  const tokens = await FakeTokens.start(fake.tokens);
  const credentials = join(dir, 'gce.json');
  await mkdir(dir, { recursive: true });
  await writeFile(credentials, JSON.stringify(tokens.serviceAccount), { mode: 0o600 });
  return { fake, tokens, credentials };
}

/** Instances of a fake Compute Engine that each test has of its own; every exchange is held against Google's description. */
export class GceHarness extends Harness<GceSetup & { providers: readonly { pools: readonly unknown[] }[] }> {
  /** Options of the clouds of subsequent tests. */
  cloudOptions: Partial<FakeComputeOptions> = {};
  #cloud: GceCloud | undefined;

  /** Starts ZooKeeper. */
  static async start(options: ZooKeeperOptions = {}): Promise<GceHarness> {
    return new GceHarness(await startGround(options));
  }

  /** The cloud of the present test. */
  get cloud(): GceCloud {
    if (!this.#cloud) throw new Error('the cloud has not been started');
    return this.#cloud;
  }

  override async startTest(): Promise<void> {
    await super.startTest();
    this.#cloud = await startGceCloud(join(this.testDir, 'cloud'), this.cloudOptions);
  }

  protected override configOf(setup: GceSetup): Record<string, unknown> {
    return gceConfig(setup, this.cloud.fake.endpoint, this.cloud.credentials);
  }

  protected override async nodeProblems(): Promise<string[]> {
    const { fake } = this.cloud;
    const instances = fake.instances.map(
      ({ name, status }) => [name, { id: name, name, status, metadata: {} }] as const,
    );
    const disks = [...fake.cloud.state.disks.keys()].map((disk) => `disk ${disk} is left`);
    return [...(await elasticNodeProblems(this.zk, 0, new Map(instances))), ...disks, ...fake.violations];
  }

  override async endTest(): Promise<void> {
    await super.endTest();
    await this.#cloud?.fake.stop();
    await this.#cloud?.tokens.stop();
    this.#cloud = undefined;
  }
}

/** A setup as harnesses want it. */
export function gceSetup(setup: GceSetup = {}): GceSetup & { providers: readonly { pools: readonly unknown[] }[] } {
  const provider = { pools: ['main'] };
  return { ...setup, providers: setup.second ? [provider, provider] : [provider] };
}
