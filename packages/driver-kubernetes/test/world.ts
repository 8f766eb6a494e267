import { setMaxListeners } from 'node:events';
import {
  newNode,
  newRequest,
  systemClock,
  withNode,
  type Clock,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import {
  DATABASE_ID_TAG,
  type JsonObject,
  type LaunchResult,
  type Logger,
  type LogFields,
  type NodeRecord,
  type Provider,
  type ProviderContext,
} from '@nodepool/core';
import { createCredentials, createHttp, createKubernetesDriver, type Http } from '../src/index.js';
import type { DriverName } from '../src/config.js';

/** Body of a stored record: the creation time is final. */
const STORED = {};

/** Id of the database that the provider works for. */
export const DATABASE_ID = 'da7aba5e'.repeat(4);

export { DATABASE_ID_TAG };

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER); // one for each launch in progress

export interface WorldOptions {
  readonly driver?: DriverName;
  readonly databaseId?: string;
  /** Number of the first node that it launches. Default 1. */
  readonly firstNode?: number;
  /** The provider entry; `name` is `cluster` unless it says otherwise. */
  readonly entry: JsonObject;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly http?: Http;
  /** Default: the clock of the computer. */
  readonly clock?: Clock;
  /** Wraps the connection of the driver. */
  readonly wrap?: (http: Http) => Http;
  /** Records that another world began with. */
  readonly nodes?: Map<string, NodeRecord>;
}

/** A line that was logged. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** A provider as a launcher runs it; nodes live in memory. */
export class World {
  readonly provider: Provider;
  readonly nodes: Map<string, NodeRecord>;
  /** Its process has died: nothing is stored any more. */
  isDead = false;
  readonly log: LogLine[] = [];
  /** Names of the calls as they are counted. */
  readonly calls: string[] = [];
  /** Called with each change of a node. */
  onStore: (changes: Partial<NodeRecord>) => void = () => undefined;
  readonly withdrawn: { id: string; why: string }[] = [];
  readonly #databaseId: string;
  readonly #clock: Clock;
  #nextNode: number;

  constructor(options: WorldOptions) {
    this.#databaseId = options.databaseId ?? DATABASE_ID;
    this.#clock = options.clock ?? systemClock;
    this.#nextNode = options.firstNode ?? 1;
    this.nodes = options.nodes ?? new Map<string, NodeRecord>();
    const { http, wrap = (one: Http) => one, driver: name = 'kubernetes' } = options;
    const driver = createKubernetesDriver(name, {
      connect: ({ kubeconfig: file, context, env }, { clock, logger }) =>
        wrap(http ?? createHttp({ credentials: createCredentials({ file, context, env }, clock, logger), clock })),
    });
    const config = driver.getProviderConfig(
      { name: 'cluster', driver: name, ...options.entry },
      {
        labels: new Map(),
        diskimages: new Map(),
        env: options.env ?? process.env,
        problem: (_path, message, severity) => {
          if (severity === 'warning') return;
          throw new Error(message);
        },
      },
    );
    this.provider = driver.getProvider(config, this.#context());
  }

  /** Makes and starts a provider. */
  static async start(options: WorldOptions): Promise<World> {
    const world = new World(options);
    try {
      await world.provider.start(NEVER);
    } catch (error) {
      await world.end();
      throw error;
    }
    return world;
  }

  launch(labelName: string, { poolName = 'main', signal = NEVER } = {}): Promise<LaunchResult> {
    const pool = this.provider.config.pools.get(poolName);
    const label = pool?.labels.get(labelName);
    if (!pool || !label) throw new Error(`there is no label "${labelName}" in pool "${poolName}"`);
    const id = String(this.#nextNode++).padStart(10, '0') as NodeId;
    const asked = newRequest({ labels: [labelName], tenantName: 'tenant-one' }, Date.now());
    const request = { ...asked, id: '100-0000000001' as RequestId };
    const fields = { labels: [labelName], provider: this.provider.config.name, pool: poolName };
    const handler = this.provider.getRequestHandler(pool, request);
    const fresh: NodeRecord = {
      ...newNode({ state: 'init', ...fields }, Date.now()),
      id,
      state: 'building',
      raw: STORED,
    };
    let node = handler.setNodeMetadata?.(fresh) ?? fresh;
    this.nodes.set(id, node);
    const store = async (changes: Partial<NodeRecord>) => {
      if (this.isDead) throw new Error('its process has died');
      this.onStore(changes);
      await Promise.resolve();
      node = withNode(node, changes, Date.now(), 'launcher');
      this.nodes.set(id, node);
      return node;
    };
    const launched = handler.launch?.({ node, pool, label, request, store }, signal);
    if (!launched) throw new Error('the driver launches nothing');
    return launched;
  }

  /** Deletes a node as a launcher does: what is behind it, then its record. */
  async cleanUp(node: NodeRecord): Promise<void> {
    await this.provider.startNodeCleanup(node, NEVER);
    this.nodes.delete(node.id);
    this.provider.nodeDeletedNotification?.(node);
  }

  /** Two looks for leaks, as it takes to be sure. */
  async findLeaks(): Promise<void> {
    await this.provider.cleanupLeakedResources(NEVER);
    await this.provider.cleanupLeakedResources(NEVER);
  }

  async end(): Promise<void> {
    this.provider.stop();
    await this.provider.join();
  }

  #logger(): Logger {
    const at =
      (level: string) =>
      (message: string, fields: LogFields = {}) => {
        this.log.push({ level, message, fields });
      };
    const logger: Logger = {
      ...{ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
      child: () => logger,
    };
    return logger;
  }

  #context(): ProviderContext {
    // The state-machine provider uses no more of a launcher than this.
    return {
      clock: this.#clock,
      logger: this.#logger(),
      metrics: { apiCall: (_provider: string, call: string) => this.calls.push(call) },
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
      renewLogin: (id: string, connectionPort: NodeRecord['connectionPort']) => {
        const node = this.nodes.get(id);
        if (node?.state !== 'hold') return Promise.resolve(false);
        this.nodes.set(id, { ...node, connectionPort });
        return Promise.resolve(true);
      },
      databaseId: this.#databaseId,
      zk: {
        exists: (path: string) => Promise.resolve(this.nodes.get(path.slice(path.lastIndexOf('/') + 1))),
        getData: () => Promise.resolve({ data: Buffer.from(this.#databaseId) }),
      },
      ownNodes: () => this.nodes.values(),
      capacityChanged: () => {},
      random: () => 0,
    } as unknown as ProviderContext;
  }
}
