import { encodeNode, newNode, NODES_ROOT, type NodeRecord, type ZooKeeper } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer, perfectConditions } from '@nodepool/zk-protocol/memory';
import {
  silentLogger,
  type Config,
  type Driver,
  type Logger,
  type Provider,
  type ProviderConfig,
} from '../../src/index.js';
import { FEATURES } from '../../src/features/index.js';
import { Launcher } from '../../src/launcher/index.js';
import { VirtualClock } from '../../src/testing/virtual-clock.js';
import { idleProvider } from './idle-provider.js';
import { poolConfig } from './pool-config.js';

/** Provider `rack` without pools. */
export const rackProvider: ProviderConfig = {
  name: 'rack',
  driverName: 'idle',
  entry: {},
  maxConcurrency: -1,
  priority: undefined,
  pools: new Map(),
  managesImages: false,
};

/** A driver whose nodes have no instances. */
const idleDriver = (changes: Partial<Provider>, launches: boolean): Driver => ({
  name: 'idle',
  apiVersion: 1,
  capabilities: { launches, pausesAtQuota: false, managesImages: false, resumes: launches },
  schema: {},
  getProviderConfig: () => rackProvider,
  getProvider: (config) => idleProvider(config, changes),
});

/** A single provider `rack` without pools. */
export const rackConfig: Config = {
  file: 'nodepool.yaml',
  zookeeper: { servers: [], tls: undefined, digest: undefined, sessionTimeoutMs: 10_000, embeddedAccess: 'owner' },
  webapp: { port: 0, listenAddress: '' },
  builderWebapp: { port: 0, listenAddress: '' },
  elementsDir: undefined,
  imagesDir: undefined,
  buildLogDir: '',
  buildLogRetention: 7,
  labels: new Map(),
  diskimages: new Map(),
  providers: new Map([['rack', rackProvider]]),
  maxHoldAgeMs: 0,
  tenantLimits: new Map(),
  apiTokens: [],
  tokenKeys: [],
  warnings: [],
};

/** Provider `rack` with a pool `main` that has label `a`. */
export const pooledConfig: Config = {
  ...rackConfig,
  providers: new Map([['rack', { ...rackProvider, pools: new Map([['main', poolConfig('main', ['a'])]]) }]]),
};

/** A ZooKeeper on a virtual clock, for launchers with a provider whose nodes have no instances. */
export class RackWorld {
  /** @param provider - changed members of the provider @param launches - whether it can launch nodes, and resume launches */
  constructor(
    private readonly provider: Partial<Provider> = {},
    private readonly logger: Logger = silentLogger,
    private readonly launches = false,
  ) {}

  readonly clock = new VirtualClock();
  readonly #server = new MemoryServer(this.clock);
  readonly zk = this.session().zk;

  /** @param canConnect - default: always */
  session(canConnect = () => true): ReturnType<typeof connectInMemory> {
    const conditions = { ...perfectConditions, canConnect };
    return connectInMemory(this.#server, { clock: this.clock, conditions, random: () => 0.5 });
  }

  /** ZooKeeper restarts without its data. */
  loseData(): void {
    this.#server.replace();
  }

  /** Stores ready nodes of `rack` with the given changes. */
  async createNodes(nodes: readonly Partial<NodeRecord>[]): Promise<void> {
    await this.clock.run(this.zk.ensurePath(NODES_ROOT));
    for (const fields of nodes) {
      const node = newNode(
        { state: 'ready', labels: ['a'], provider: 'rack', pool: 'main', ...fields },
        this.clock.now(),
      );
      await this.clock.run(this.zk.create(`${NODES_ROOT}/`, encodeNode(node), { sequential: true }));
    }
  }

  /** Creates a launcher without starting it. @param zk - its session; default: a new session @param features - default: all */
  launcher(config: Config = rackConfig, zk: ZooKeeper = this.session().zk, features = FEATURES): Launcher {
    const driver = idleDriver(this.provider, this.launches);
    const registry = { get: () => Promise.resolve(driver), reset: () => Promise.resolve(), loaded: () => [] };
    const parts = { zk, clock: this.clock, config, registry, logger: this.logger };
    return new Launcher({ ...parts, features, hostname: 'nl01', version: '1' });
  }

  async startLauncher(config?: Config, zk?: ZooKeeper): Promise<Launcher> {
    const launcher = this.launcher(config, zk);
    await this.clock.run(launcher.start());
    await this.settle();
    return launcher;
  }

  /** Advances time in steps, because requests to ZooKeeper leave once per event loop turn. */
  async settle(stepMs = 5): Promise<void> {
    for (let step = 0; step < 20; step++) await this.clock.advance(stepMs);
  }
}
