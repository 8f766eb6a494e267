import { newNode, newRequest, withNode, type NodeId, type NodeRecord, type RequestId } from '@nodepool/zk-protocol';
import type { LaunchOrder, ProviderContext } from '../../src/contract/driver.js';
import { TimeoutError } from '../../src/contract/errors.js';
import { silentLogger } from '../../src/contract/logger.js';
import type { OperationMetrics } from '../../src/contract/operation-metrics.js';
import type { ScanHostKeysOptions } from '../../src/cloud/key-scan/index.js';
import { StateMachineProvider } from '../../src/cloud/state-machine/provider.js';
import type {
  Adapter,
  StateMachineLabelConfig,
  StateMachineProviderConfig,
} from '../../src/cloud/state-machine/types.js';
import { type VirtualClock } from '../../src/testing/index.js';
import { poolConfig } from './pool-config.js';

/** Database id of the provider. */
export const DATABASE_ID = 'da7aba5e'.repeat(4);

/** A provider with one pool `main` and one label `small`, with the given changes. */
export function providerConfig(
  changes: Partial<StateMachineProviderConfig> = {},
  label: Partial<StateMachineLabelConfig> = {},
  pool: object = {},
): StateMachineProviderConfig {
  const small = { name: 'small', cloudImage: 'debian', hostKeyChecking: false, ...label };
  return {
    name: 'cloud',
    driverName: 'memory',
    entry: { name: 'cloud' },
    maxConcurrency: -1,
    priority: undefined,
    managesImages: false,
    launchTimeoutMs: 60_000,
    bootTimeoutMs: 10_000,
    launchRetries: 3,
    cloudImages: new Map([
      [
        'debian',
        {
          name: 'debian',
          username: 'zuul',
          pythonPath: 'auto',
          shellType: null,
          connectionType: 'ssh',
          connectionPort: 22,
        },
      ],
    ]),
    diskimages: new Map(),
    pools: new Map([['main', { ...poolConfig('main', []), labels: new Map([['small', small]]), ...pool }]]),
    ...changes,
  };
}

/** A provider on a virtual clock that keeps its nodes in memory. */
export class LaunchWorld {
  readonly clock: VirtualClock;
  readonly nodes = new Map<string, NodeRecord>();
  /** Times at which a driver reported that the cloud started to create an instance. */
  readonly createdMs: number[] = [];
  readonly writes: Partial<NodeRecord>[] = [];
  /** Counted events: `result image` of launches, `plural` of leaks. */
  readonly counted: string[] = [];
  /** Stages of launches, in order. */
  readonly stages: string[] = [];
  readonly config: StateMachineProviderConfig;
  readonly provider: StateMachineProvider;
  capacityChanges = 0;
  /** Database id that the launcher knows. */
  databaseId = DATABASE_ID;
  /** Database id stored in ZooKeeper. */
  storedDatabaseId = DATABASE_ID;
  nodesReady = true;
  /** Ids of nodes that are in ZooKeeper but not in the mirror. */
  readonly unseen = new Set<string>();
  /** Error of the next store. */
  storeError: Error | undefined;
  random = () => 0.5;
  /** As in `LaunchOrder`. */
  attemptFailed: ((error: Error) => boolean) | undefined;
  /** Host keys found by the scan; `undefined` if the scan times out. */
  keys: string[] | undefined = ['ssh-ed25519 KEY'];
  /** Time after the first look when its port answers. Default: at once. */
  opensAfterMs = 0;
  /** Called at each look when the port answers. */
  looked: (() => void) | undefined;
  #openMs: number | undefined;
  #nextNode = 1;

  constructor(
    clock: VirtualClock,
    getAdapter: Adapter,
    config: StateMachineProviderConfig = providerConfig(),
    context: Partial<ProviderContext> = {},
  ) {
    this.clock = clock;
    this.config = config;
    this.provider = new StateMachineProvider(config, this.#context(context), () => getAdapter, {
      scan: (options) => this.#scan(options),
    });
  }

  /** Creates a node in state `building`. */
  node(changes: Partial<NodeRecord> = {}): NodeRecord {
    const id = String(this.#nextNode++).padStart(10, '0') as NodeId;
    const draft = newNode(
      { state: 'init', labels: ['small'], provider: this.config.name, pool: 'main' },
      this.clock.now(),
    );
    const handler = this.#handler();
    const node = { ...(handler.setNodeMetadata?.(draft) ?? draft), id, state: 'building', raw: {}, ...changes };
    this.nodes.set(id, node);
    return node;
  }

  launch(node = this.node(), signal: AbortSignal = new AbortController().signal) {
    return this.#launch(this.#order(node), signal);
  }

  /** Begins a launch that ends when no request needs the node any more. */
  launchUntil(unwanted: AbortSignal) {
    return this.#launch({ ...this.#order(this.node()), unwanted }, new AbortController().signal);
  }

  /** Continues a launch that another launcher began. @param node - as this launcher has locked it */
  resume(node: NodeRecord) {
    return this.#launch({ ...this.#order(node), isResumed: true }, new AbortController().signal);
  }

  #launch(order: LaunchOrder, signal: AbortSignal) {
    const launched = this.#handler().launch?.(order, signal);
    if (!launched) throw new Error('the handler launches nothing');
    return launched;
  }

  /** Deletes node and instance like the launcher. */
  async cleanUp(node: NodeRecord, signal: AbortSignal = new AbortController().signal): Promise<void> {
    this.nodes.set(node.id, { ...node, state: 'deleting' });
    await this.provider.startNodeCleanup(node, signal);
    this.nodes.delete(node.id);
  }

  async end(): Promise<void> {
    this.provider.stop();
    await this.clock.run(this.provider.join());
  }

  #handler() {
    const pool = this.config.pools.get('main');
    if (!pool) throw new Error('there is no pool "main"');
    const request = newRequest({ labels: ['small'] }, this.clock.now());
    return this.provider.getRequestHandler(pool, { ...request, id: '100-0000000001' as RequestId });
  }

  #order(node: NodeRecord): LaunchOrder {
    const pool = this.config.pools.get('main');
    const label = pool?.labels.get('small');
    if (!pool || !label) throw new Error('there is no label "small"');
    let current = node;
    return {
      node,
      pool,
      label,
      request: newRequest({ labels: ['small'] }, this.clock.now()),
      attemptFailed: this.attemptFailed,
      created: () => this.createdMs.push(this.clock.now()),
      stageBegan: (stage) => this.stages.push(stage),
      store: async (changes) => {
        await Promise.resolve();
        if (this.storeError) throw this.storeError;
        this.writes.push(changes);
        current = withNode(current, changes, this.clock.now(), 'launcher');
        this.nodes.set(current.id, current);
        return current;
      },
    };
  }

  async #scan(options: ScanHostKeysOptions): Promise<string[]> {
    await Promise.resolve();
    this.#openMs ??= this.clock.now() + this.opensAfterMs;
    const closedMs = this.#openMs - this.clock.now();
    if (closedMs > 0) {
      options.onFailure?.(new Error('connect ECONNREFUSED'));
      await new Promise<void>((resolve) => this.clock.setTimer(closedMs, resolve));
    }
    this.looked?.();
    if (this.keys) return this.keys;
    await new Promise<void>((resolve) => this.clock.setTimer(options.timeoutMs, resolve));
    options.signal?.throwIfAborted();
    throw new TimeoutError(`${options.host} does not answer`, { statsdKey: 'error.keyscan' });
  }

  #context(changes: Partial<ProviderContext>): ProviderContext {
    const metrics: OperationMetrics = {
      launchEnded: (result, _ms, { image }) => this.counted.push(`${result} ${image}`),
      leaked: (_provider, plural) => this.counted.push(`leaked ${plural}`),
    };
    const context = {
      clock: this.clock,
      logger: silentLogger,
      metrics,
      hostname: 'launcher.example',
      nodes: new NodesInMemory(this),
      zk: {
        exists: (path: string) => Promise.resolve(this.#exists(path) ? {} : undefined),
        getData: () => Promise.resolve({ data: Buffer.from(this.storedDatabaseId) }),
      },
      ownNodes: () => this.nodes.values(),
      capacityChanged: () => void this.capacityChanges++,
      random: () => this.random(),
      ...changes,
    } as unknown as ProviderContext;
    return Object.defineProperty(context, 'databaseId', { get: () => this.databaseId, enumerable: true });
  }

  #exists(path: string): boolean {
    const id = path.slice(path.lastIndexOf('/') + 1);
    return this.nodes.has(id) || this.unseen.has(id);
  }
}

class NodesInMemory {
  readonly #bench: LaunchWorld;

  constructor(bench: LaunchWorld) {
    this.#bench = bench;
  }

  get ready(): boolean {
    return this.#bench.nodesReady;
  }

  get(id: string): NodeRecord | undefined {
    return this.#bench.nodes.get(id);
  }
}
