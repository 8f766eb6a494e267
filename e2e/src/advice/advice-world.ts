import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  connect,
  decodeNode,
  encodeNode,
  isZooKeeperError,
  newNode,
  NODE_CREATE_PATH,
  nodePath,
  NODES_ROOT,
  type NodeId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { findEmbeddedServer } from '@nodepool/core/config';
import { LauncherProcess } from '../launcher-process.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';

/** The part of the OpenStack driver's fake cloud that these tests use. The package does not export the fake. */
export interface AdviceCloud {
  readonly entry: Record<string, unknown>;
  readonly state: {
    readonly flavors: { id: string; name: string; vcpus: number; ram: number }[];
    readonly servers: Map<string, { id: string; metadata: Record<string, unknown>; status: string }>;
    readonly networks: Record<string, unknown>[];
    readonly securityGroups: Record<string, unknown>[];
    readonly keyPairs: string[];
    readonly serverGroups: Record<string, unknown>[];
    readonly quota: { instances: number };
    readonly fates: (string | undefined)[];
    readonly tokens: Map<string, number>;
    addImage(name: string): { readonly id: string };
  };
  readonly faults: {
    method?: string;
    path?: RegExp;
    status?: number;
    body?: string;
    silent?: boolean;
    delayMs?: number;
    reset?: boolean;
  }[];
  readonly broken: unknown[];
  password: string;
  listen(): Promise<unknown>;
  close(): Promise<void>;
}

/** A condition as `/healthz` shows it. */
export interface ShownCondition {
  readonly kind: string;
  readonly name: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly next_step: string;
}

const FAKE = new URL('../../../packages/driver-openstack/test/fake/fake-openstack.ts', import.meta.url);
/** A sweep, the reading of limits, or the longest wait for a probe, and time for the services themselves. */
const PATIENCE_MS = 60_000 + 2 * SOON_MS;
const LABEL = { name: 'small', 'cloud-image': 'debian', 'flavor-name': 'm1.small' };

/** What a row changes in the configuration. */
export interface ConfigChanges {
  /** Keys of the provider `sky`. */
  readonly provider?: Record<string, unknown>;
  /** Keys of its pool `main`. */
  readonly pool?: Record<string, unknown>;
  /** Keys of its label `small`. */
  readonly label?: Record<string, unknown>;
  /** Keys of the label `small` at the top. */
  readonly top?: Record<string, unknown>;
  /** Top-level keys; `providers` are added to `sky`, `labels` to `small`. */
  readonly more?: Record<string, unknown> & { providers?: unknown[]; labels?: unknown[] };
}

/** A launcher on the embedded ZooKeeper, with the provider `sky` in an emulated OpenStack, in which nothing is wrong. */
export class AdviceWorld {
  readonly #env: Readonly<Record<string, string>>;

  private constructor(
    readonly dir: string,
    readonly cloud: AdviceCloud,
    readonly launcher: LauncherProcess,
    readonly zk: ZooKeeper,
    env: Readonly<Record<string, string>>,
  ) {
    this.#env = env;
  }

  static async start(): Promise<AdviceWorld> {
    const { FakeOpenStack } = (await import(FAKE.href)) as { FakeOpenStack: new () => AdviceCloud };
    const cloud = new FakeOpenStack();
    const dir = await mkdtemp(join(tmpdir(), 'nodepool-advice-'));
    await cloud.listen();
    const env = { OS_CLIENT_CONFIG_FILE: join(dir, 'clouds.yaml') };
    await writeFile(env.OS_CLIENT_CONFIG_FILE, cloudsYaml(cloud));
    const launcher = await LauncherProcess.start(dir, 'launcher', AdviceWorld.config(), env);
    await launcher.whenReady();
    const found = await findEmbeddedServer([join(dir, 'state')]);
    const zk = await connect({ ...found, servers: found?.servers ?? '' });
    return new AdviceWorld(dir, cloud, launcher, zk, env);
  }

  async stop(): Promise<void> {
    await this.zk.close();
    await this.launcher.stop();
    await this.cloud.close();
    await rm(this.dir, { recursive: true, force: true });
  }

  static config({ provider, pool, label, top, more = {} }: ConfigChanges = {}): Record<string, unknown> {
    const main = { name: 'main', 'host-key-checking': false, networks: ['public'], labels: [{ ...LABEL, ...label }] };
    const sky = { name: 'sky', driver: 'openstack', cloud: 'sky', rate: 0, 'launch-retries': 1 };
    const images = { 'cloud-images': [{ name: 'debian', username: 'zuul' }] };
    const { providers = [], labels = [], ...others } = more;
    return {
      labels: [{ name: 'small', ...top }, ...labels],
      providers: [{ ...sky, ...images, pools: [{ ...main, ...pool }], ...provider }, ...providers],
      ...others,
    };
  }

  /** Puts the configuration with these changes in force. Default: the first one. */
  async configure(changes: ConfigChanges = {}): Promise<void> {
    await this.launcher.rewriteConfig(AdviceWorld.config(changes));
    this.launcher.signal('SIGHUP');
  }

  /** Makes the password of the cloud the one that it accepts. */
  writeClouds(): Promise<void> {
    return writeFile(join(this.dir, 'clouds.yaml'), cloudsYaml(this.cloud));
  }

  /** Stores a node of the label `small` in `sky`. @returns its id */
  async createNode(fields: Parameters<typeof newNode>[0]): Promise<string> {
    const node = newNode({ provider: 'sky', pool: 'main', labels: ['small'], ...fields }, Date.now());
    const body = { ...node, stateTimeMs: fields.stateTimeMs ?? node.stateTimeMs };
    const path = await this.zk.create(NODE_CREATE_PATH, encodeNode(body), { sequential: true });
    return path.slice(path.lastIndexOf('/') + 1);
  }

  /** Deletes the nodes on standby, also one that is still being made. */
  async deleteReadyNodes(): Promise<void> {
    const deleteThem = async () => {
      const ids = (await this.zk.getChildren(NODES_ROOT)) as NodeId[];
      for (const id of ids) await this.#deleteIfReady(id);
      return ids;
    };
    await expect.poll(deleteThem, { timeout: PATIENCE_MS, interval: 100 }).toEqual([]);
  }

  async #deleteIfReady(id: NodeId): Promise<void> {
    try {
      const { data, stat } = await this.zk.getData(nodePath(id));
      const node = decodeNode(id, data, stat, 0);
      if (node?.state === 'ready')
        await this.zk.setData(nodePath(id), encodeNode({ ...node, state: 'deleting' }), stat.version);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_BAD_VERSION')) throw error; // a launcher was faster
    }
  }

  /** Runs `nodepool` with these arguments. @param file - another configuration */
  async nodepool(args: readonly string[], file?: string): Promise<string> {
    const [, , ...others] = this.launcher.commonOptions;
    const common = file === undefined ? this.launcher.commonOptions : ['-c', file, ...others];
    const command = NodepoolProcess.start([...common, ...args], this.#env);
    await command.end();
    return command.stdout + command.stderr;
  }

  /** A node on standby in the cloud. @returns its id */
  async readyNode(): Promise<{ id: string; server: string }> {
    const find = async () => {
      const listed = JSON.parse(await this.nodepool(['list', '--json'])) as Record<string, string | null>[];
      return listed.find(({ state, server_id: server }) => state === 'ready' && server !== null);
    };
    await expect.poll(find, { timeout: PATIENCE_MS, interval: 500 }).toBeDefined();
    const { id, server_id: server } = (await find()) ?? {};
    return { id: id ?? '', server: server ?? '' };
  }

  async conditions(): Promise<ShownCondition[]> {
    const { conditions } = (await this.launcher.getJson('/healthz')) as { conditions: ShownCondition[] };
    return conditions;
  }

  /** Waits until the launcher has the condition. */
  async seen(type: string, reason: string): Promise<ShownCondition> {
    const find = async () => (await this.conditions()).find((each) => each.type === type && each.reason === reason);
    let found: ShownCondition | undefined;
    await expect
      .poll(async () => (found = (await find()) ?? found) ?? (await this.conditions()), {
        timeout: PATIENCE_MS,
        interval: 250,
      })
      .toMatchObject({ type, reason });
    return found as ShownCondition;
  }

  /** Waits until the condition has ended. */
  async gone({ type, name, reason }: ShownCondition): Promise<void> {
    const find = async () =>
      (await this.conditions()).filter((each) => each.type === type && each.name === name && each.reason === reason);
    await expect.poll(find, { timeout: PATIENCE_MS, interval: 250 }).toEqual([]);
  }

  /** Waits until nothing is wrong. */
  async well(): Promise<void> {
    await expect.poll(() => this.conditions(), { timeout: PATIENCE_MS, interval: 250 }).toEqual([]);
  }
}

function cloudsYaml(cloud: AdviceCloud): string {
  return JSON.stringify({ clouds: { sky: cloud.entry } });
}
