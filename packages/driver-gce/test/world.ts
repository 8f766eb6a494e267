import { afterEach } from 'vitest';
import {
  newNode,
  newRequest,
  systemClock,
  withNode,
  type JsonObject,
  type NodeId,
  type NodeRecord,
  type RequestId,
} from '@nodepool/zk-protocol';
import { FakeCompute, TOKEN, type FakeComputeOptions } from '@nodepool/fake-compute';
import type { Adapter, LaunchResult, Logger, LogFields, Provider, ProviderContext } from '@nodepool/core';
import { COMPUTE_V1, createGceDriver, createHttp } from '../src/index.js';

/** Body of a stored record: the creation time is final. */
const STORED = {};

/** Id of the database that the provider works for. */
export const DATABASE_ID = 'da7aba5e'.repeat(4);

const NEVER = new AbortController().signal;

export const LABEL: JsonObject = { name: 'small', 'cloud-image': 'debian', 'instance-type': 'e2-standard-2' };

export interface WorldOptions {
  readonly cloud?: Partial<FakeComputeOptions>;
  /** A cloud that another world has started, and ends. */
  readonly fake?: FakeCompute;
  /** Id of its database; `undefined` in this place: made before there was one. Default: always the same. */
  readonly databaseId?: string | undefined;
  /** Number of the first node that it launches. Default 1. */
  readonly firstNode?: number;
  /** Keys of the provider entry. */
  readonly entry?: JsonObject;
  /** Keys of the only pool. */
  readonly pool?: JsonObject;
  /** Keys of the only label. */
  readonly label?: JsonObject;
}

/** A line that was logged. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** A provider as a launcher runs it, and a fake Compute Engine behind a socket; nodes live in memory. */
export class World {
  readonly fake: FakeCompute;
  readonly provider: Provider;
  readonly nodes = new Map<string, NodeRecord>();
  readonly log: LogLine[] = [];
  /** What was counted: results of launches, and `leaked <plural>`. */
  readonly counted: string[] = [];
  /** Names of the calls as they are counted. */
  readonly calls: string[] = [];
  /** Called with each change of a node. */
  onStore: (changes: Partial<NodeRecord>) => void = () => undefined;
  /** Records that the driver wrote by itself. */
  readonly withdrawn: { id: string; why: string }[] = [];
  #nextNode: number;

  readonly #databaseId: string | undefined;

  private constructor(fake: FakeCompute, options: WorldOptions) {
    this.#databaseId = 'databaseId' in options ? options.databaseId : DATABASE_ID;
    this.fake = fake;
    this.#nextNode = options.firstNode ?? 1;
    fake.setFamily('debian-cloud', 'debian-12', 'debian-12-v1');
    const driver = createGceDriver({
      connect: ({ endpoint }, { clock }) => {
        const headers = () => Promise.resolve({ authorization: `Bearer ${TOKEN}` });
        return createHttp({ endpoint, clock, credentials: { headers, forget: () => undefined } });
      },
    });
    const config = driver.getProviderConfig(entryOf(fake, options), {
      labels: new Map(),
      diskimages: new Map(),
      problem: (_path, message) => {
        throw new Error(message);
      },
    });
    this.provider = driver.getProvider(config, this.#context());
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const defaults = { description: COMPUTE_V1, clock: systemClock, bootMs: 20, deleteMs: 20 };
    const fake = options.fake ?? (await FakeCompute.start({ ...defaults, ...options.cloud }));
    const world = new World(fake, options);
    try {
      await world.provider.start(NEVER);
    } catch (error) {
      await world.end();
      throw error;
    }
    return world;
  }

  /** The calls to the cloud. */
  get adapter(): Adapter {
    return Reflect.get(this.provider, 'adapter') as Adapter;
  }

  launch(): Promise<LaunchResult> {
    const id = String(this.#nextNode++).padStart(10, '0') as NodeId;
    const fields = { labels: ['small'], provider: 'google', pool: 'main' };
    return this.#launch({ ...newNode({ state: 'init', ...fields }, Date.now()), id, state: 'building', raw: STORED });
  }

  /** Starts a stopped node. @param launchState - what {@link stop} returned */
  startStopped(node: NodeRecord, launchState: JsonObject | undefined): Promise<LaunchResult> {
    return this.#launch({ ...node, state: 'building', launchState: launchState ?? null }, true);
  }

  #launch(fresh: NodeRecord, isResumed = false): Promise<LaunchResult> {
    const pool = this.provider.config.pools.get('main');
    const label = pool?.labels.get('small');
    if (!pool || !label) throw new Error('there is no label "small" in pool "main"');
    const { id } = fresh;
    const request = { ...newRequest({ labels: ['small'] }, Date.now()), id: '100-0000000001' as RequestId };
    const handler = this.provider.getRequestHandler(pool, request);
    let node = handler.setNodeMetadata?.(fresh) ?? fresh;
    this.nodes.set(id, node);
    const store = async (changes: Partial<NodeRecord>) => {
      this.onStore(changes);
      await Promise.resolve();
      node = withNode(node, changes, Date.now(), 'launcher');
      this.nodes.set(id, node);
      return node;
    };
    const launched = handler.launch?.({ node, pool, label, request, store, isResumed }, NEVER);
    if (!launched) throw new Error('the driver launches nothing');
    return launched;
  }

  /** @returns what starts the instance again */
  async stop(node: NodeRecord): Promise<JsonObject | undefined> {
    return this.provider.stopNode?.(node, NEVER);
  }

  /** Deletes a node as a launcher does: what is behind it, then its record. */
  async cleanUp(node: NodeRecord): Promise<void> {
    await this.provider.startNodeCleanup(node, NEVER);
    this.nodes.delete(node.id);
  }

  /** Two looks for leaks, as it takes to be sure. */
  async findLeaks(): Promise<void> {
    await this.provider.cleanupLeakedResources(NEVER);
    await this.provider.cleanupLeakedResources(NEVER);
  }

  /** Ends it. @throws {Error} an exchange was not as Google describes it */
  async end(): Promise<void> {
    this.provider.stop();
    await this.provider.join();
    await this.fake.stop();
    if (this.fake.violations.length > 0) throw new Error(this.fake.violations.join('\n'));
  }

  #logger(): Logger {
    const at =
      (level: string) =>
      (message: string, fields: LogFields = {}) => {
        this.log.push({ level, message, fields });
      };
    const logger: Logger = {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: () => logger,
    };
    return logger;
  }

  #context(): ProviderContext {
    // The state-machine provider uses no more of a launcher than this.
    return {
      clock: systemClock,
      logger: this.#logger(),
      metrics: {
        launchEnded: (result: string) => this.counted.push(result),
        leaked: (_provider: string, plural: string) => this.counted.push(`leaked ${plural}`),
        apiCall: (_provider: string, call: string) => this.calls.push(call),
      },
      hostname: 'launcher.example',
      nodes: {
        ready: true,
        get: (id: string) => this.nodes.get(id),
        onChange: () => () => {},
        hasLockDirectory: () => false,
      },
      withdrawNode: (id: string, why: string) => {
        const isFree = this.nodes.get(id)?.state === 'ready';
        if (isFree) this.withdrawn.push({ id, why });
        return Promise.resolve(isFree);
      },
      databaseId: this.#databaseId,
      zk: {
        exists: (path: string) => Promise.resolve(this.nodes.get(path.slice(path.lastIndexOf('/') + 1))),
        getData: () => Promise.resolve({ data: Buffer.from(this.#databaseId ?? '') }),
      },
      ownNodes: () => this.nodes.values(),
      capacityChanged: () => {},
      random: () => 0,
    } as unknown as ProviderContext;
  }
}

function entryOf(fake: FakeCompute, { entry = {}, pool = {}, label = {} }: WorldOptions): JsonObject {
  return {
    name: 'google',
    driver: 'gce',
    project: 'test-project',
    region: 'us-central1',
    zone: 'us-central1-a',
    endpoint: fake.endpoint,
    rate: 0,
    'cloud-images': [
      { name: 'debian', username: 'zuul', 'image-project': 'debian-cloud', 'image-family': 'debian-12' },
    ],
    ...entry,
    pools: [{ name: 'main', 'host-key-checking': false, labels: [{ ...LABEL, ...label }], ...pool }],
  };
}

/** Starts worlds for each test of a file, and ends them after it. */
export function useWorlds(): (options?: WorldOptions) => Promise<World> {
  const worlds: World[] = [];
  afterEach(async () => {
    for (const world of worlds.splice(0).reverse()) await world.end();
  });
  return async (options = {}) => {
    const world = await World.start(options);
    worlds.push(world);
    return world;
  };
}

/** Collects inserts with their bodies. */
export function watchInserts(world: World): { zone: string; machineType: string; body: Record<string, unknown> }[] {
  const inserts: { zone: string; machineType: string; body: Record<string, unknown> }[] = [];
  world.fake.onCall = ({ method, params, body = {} }) => {
    if (method.name !== 'Instances.Insert') return;
    const machineType = /[^/]+$/.exec(JSON.stringify(body['machineType']).slice(1, -1))?.[0] ?? '';
    inserts.push({ zone: params['zone'] ?? '', machineType, body });
  };
  return inserts;
}
