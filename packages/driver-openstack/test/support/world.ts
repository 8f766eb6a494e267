import { setMaxListeners } from 'node:events';
import { newNode, newRequest, systemClock, withNode } from '@nodepool/zk-protocol';
import type { Clock, JsonObject, NodeId, NodeRecord, RequestId, RequestRecord, Stat } from '@nodepool/zk-protocol';
import type { LaunchResult, OperationMetrics, Provider, ProviderContext } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { readCloud, type Transport } from '../../src/client/index.js';
import { readProviderConfig } from '../../src/config.js';
import { createOpenStackDriver } from '../../src/driver.js';
import type { CloudFileCache } from '../../src/find-cloud.js';
import { FakeOpenStack } from '../fake/fake-openstack.js';
import { keepLines, type LogLine } from './client.js';
import { InProcessTransport } from './in-process.js';

/** Body of a stored record: the creation time is final. */
const STORED = {};

/** Id of the database that the provider works for. */
export const DATABASE_ID = 'da7aba5e'.repeat(4);

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);
export const LABEL = { name: 'small', 'cloud-image': 'debian', 'min-ram': 2_048 };
export const POOL = { name: 'main', 'host-key-checking': false, networks: ['public'], labels: [LABEL] };

/** What a world may differ in. */
export interface WorldOptions {
  /** Keys of the provider entry. */
  readonly entry?: JsonObject;
  /** Keys of the pool, and of its label. */
  readonly pool?: JsonObject;
  readonly label?: JsonObject;
  /** Keys of the entry in clouds.yaml. */
  readonly cloud?: JsonObject;
  /** Over HTTP and in real time instead of in this process and in virtual time. */
  readonly real?: boolean;
  readonly transport?: Transport;
}

/** A provider as a launcher runs it, and a fake cloud; nodes live in memory. */
export class World {
  readonly clock: VirtualClock | undefined;
  readonly cloud: FakeOpenStack;
  readonly nodes = new Map<string, NodeRecord>();
  /** Results of launches, and `leaked <plural>`. */
  readonly counted: string[] = [];
  /** Calls by name. */
  readonly apiCalls: string[] = [];
  readonly lines: LogLine[] = [];
  readonly problems: string[] = [];
  readonly #options: WorldOptions;
  readonly #time: Clock;
  #provider: Provider | undefined;
  #nextNode = 1;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.clock = options.real ? undefined : new VirtualClock();
    this.#time = this.clock ?? systemClock;
    this.cloud = new FakeOpenStack(this.#time);
  }

  get provider(): Provider {
    if (!this.#provider) throw new Error('the provider has not been started');
    return this.#provider;
  }

  /** Makes the provider and starts it. */
  async start(): Promise<this> {
    const { entry = {}, pool = {}, label = {}, cloud = {}, real = false } = this.#options;
    if (real) await this.cloud.listen();
    const whole = {
      ...{ name: 'sky', driver: 'openstack', cloud: 'fake', rate: 0, 'launch-timeout': 600 },
      'cloud-images': [{ name: 'debian', username: 'zuul' }],
      pools: [{ ...POOL, ...pool, labels: [{ ...LABEL, ...label }] }],
      ...entry,
    };
    const clouds = { clouds: { fake: { ...this.cloud.entry, ...cloud } }, publicClouds: {}, top: {}, files: ['x'] };
    readCloud(clouds, 'fake');
    const files = { get: () => clouds, reset: () => undefined, lastGood: new Map() } as unknown as CloudFileCache;
    const problem = (_path: unknown, message: string) => void this.problems.push(message);
    const config = readProviderConfig(whole, { labels: new Map(), diskimages: new Map(), problem }, files);
    const transport = this.#options.transport ?? (real ? undefined : new InProcessTransport(() => this.cloud));
    const driver = createOpenStackDriver({ transport: transport && (() => transport) });
    this.#provider = driver.getProvider(config, this.#context());
    await this.during(this.#provider.start(NEVER));
    await this.pass(10);
    return this;
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    if (this.clock) await this.clock.advance(ms);
    else await new Promise((resolve) => setTimeout(resolve, ms));
  }

  /** Lets time pass until the promise has settled. */
  during<T>(promise: Promise<T>): Promise<T> {
    return this.clock ? this.clock.run(promise) : promise;
  }

  /** Launches a node. @param labels - of its request; default: one */
  launch(changes: Partial<RequestRecord> = {}, signal = NEVER): Promise<LaunchResult> {
    const pool = this.provider.config.pools.get('main');
    if (!pool) throw new Error('there is no pool "main"');
    const id = String(this.#nextNode++).padStart(10, '0') as NodeId;
    const blank = newRequest({ labels: ['small'] }, this.#time.now());
    const request = { ...blank, id: '100-0000000001' as RequestId, ...changes };
    const handler = this.provider.getRequestHandler(pool, request);
    const draft = newNode({ state: 'init', labels: ['small'], provider: 'sky', pool: 'main' }, this.#time.now());
    return this.#run(
      { ...(handler.setNodeMetadata?.(draft) ?? draft), id, state: 'building', raw: STORED },
      request,
      signal,
    );
  }

  /** Continues the launch of a node whose launcher died before it knew the server. @param beganMs - start of its first attempt */
  resume(left: NodeRecord, beganMs: number): Promise<LaunchResult> {
    const blank = newRequest({ labels: ['small'] }, this.#time.now());
    const request = { ...blank, id: '100-0000000001' as RequestId };
    const stat = { ctime: beganMs, mtime: this.#time.now() } as Stat;
    return this.#run({ ...left, launchState: {}, stat }, request, NEVER, true);
  }

  #run(record: NodeRecord, request: RequestRecord, signal: AbortSignal, isResumed?: true): Promise<LaunchResult> {
    const pool = this.provider.config.pools.get('main');
    const label = pool?.labels.get('small');
    if (!pool || !label) throw new Error('there is no label "small" in pool "main"');
    const { id } = record;
    let node = record;
    this.nodes.set(id, node);
    const store = async (fields: Partial<NodeRecord>) => {
      await Promise.resolve();
      node = withNode(node, fields, this.#time.now(), 'launcher');
      this.nodes.set(id, node);
      return node;
    };
    const handler = this.provider.getRequestHandler(pool, request);
    const launched = handler.launch?.({ node, pool, label, request, store, isResumed }, signal);
    if (!launched) throw new Error('the driver launches nothing');
    return launched;
  }

  /** @throws what the launch failed with */
  async launchReady(): Promise<NodeRecord> {
    const { state, node, error } = await this.during(this.launch());
    if (state !== 'ready') throw error ?? new Error(state);
    return node;
  }

  /** Deletes a node as a launcher does: what is behind it, then its record. */
  async cleanUp(node: NodeRecord): Promise<void> {
    await this.provider.startNodeCleanup(node, NEVER);
    this.nodes.delete(node.id);
  }

  /** @returns what starts the instance again */
  async stop(node: NodeRecord): Promise<unknown> {
    return this.provider.stopNode?.(node, NEVER);
  }

  /** Looks for leaks, a minute apart. */
  async findLeaks(times = 2): Promise<void> {
    for (let i = 0; i < times; i++) {
      await this.during(this.provider.cleanupLeakedResources(NEVER));
      await this.pass(60_000);
    }
  }

  async end(): Promise<void> {
    this.#provider?.stop();
    if (this.#provider) await this.during(this.#provider.join());
    await this.cloud.close();
  }

  #context(): ProviderContext {
    const metrics: OperationMetrics = {
      launchEnded: (result) => this.counted.push(result),
      leaked: (_provider, plural) => this.counted.push(`leaked ${plural}`),
      apiCall: (_provider, call) => this.apiCalls.push(call),
    };
    // the state-machine provider uses no more of a launcher than this
    return {
      clock: this.#time,
      logger: keepLines(this.lines),
      nodes: { ready: true, get: (id: string) => this.nodes.get(id) },
      databaseId: DATABASE_ID,
      zk: {
        exists: () => Promise.resolve(undefined),
        getData: () => Promise.resolve({ data: Buffer.from(DATABASE_ID) }),
      },
      ownNodes: () => this.nodes.values(),
      capacityChanged: () => undefined,
      random: () => 0,
      metrics,
      hostname: 'launcher.test',
      config: () => {
        throw new Error('not used');
      },
    } as unknown as ProviderContext;
  }
}
