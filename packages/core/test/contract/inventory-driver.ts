import {
  encodeNode,
  newNode,
  NODE_CREATE_PATH,
  nodePath,
  type JsonObject,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import {
  readCommonPool,
  readCommonProvider,
  type Driver,
  type NodeRequestHandler,
  type Provider,
  type ProviderConfig,
  type ProviderContext,
} from '../../src/index.js';

export const inventoryConfig = {
  name: 'shelf',
  driver: 'inventory',
  pools: [{ name: 'main', labels: [{ name: 'small' }, { name: 'large' }] }],
};

const named = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
const schema: JsonObject = {
  type: 'object',
  required: ['pools'],
  properties: {
    pools: {
      type: 'array',
      items: { ...named, properties: { ...named.properties, labels: { type: 'array', items: named } } },
    },
  },
};

/** Defects of a broken inventory driver. */
export interface InventoryFlaws {
  readonly address?: null;
  readonly forgetful?: boolean;
  readonly launches?: boolean;
  readonly repeats?: boolean;
  readonly ruthless?: boolean;
}

/** A driver with one fixed host per label, which launches nothing. */
export function inventoryDriver(flaws: InventoryFlaws = {}): Driver {
  return {
    name: 'inventory',
    apiVersion: 1,
    capabilities: { launches: false, pausesAtQuota: false, managesImages: false },
    schema,
    getProviderConfig: (entry) => readConfig(entry),
    getProvider: (config, context) => new Inventory(config, context, flaws),
  };
}

function readConfig(entry: JsonObject): ProviderConfig {
  const common = readCommonProvider(entry, 'inventory');
  const pools = (entry['pools'] as { name: string; labels: { name: string }[] }[]).map((pool) => {
    const labels = new Map(pool.labels.map((label) => [label.name, label]));
    return { ...readCommonPool(pool, common), labels, azs: undefined, maxResources: {} };
  });
  return { ...common, managesImages: false, pools: new Map(pools.map((pool) => [pool.name, pool])) };
}

class Inventory implements Provider {
  readonly config: ProviderConfig;
  readonly #context: ProviderContext;
  readonly #flaws: InventoryFlaws;

  constructor(config: ProviderConfig, context: ProviderContext, flaws: InventoryFlaws) {
    this.config = config;
    this.#context = context;
    this.#flaws = flaws;
  }

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#flaws.ruthless) {
      for (const { id } of [...this.#context.ownNodes()]) await this.#context.zk.deleteRecursive(nodePath(id));
    }
    for (const pool of this.config.pools.values()) {
      for (const label of pool.labels.keys()) {
        const isThere = [...this.#context.ownNodes()].some((node) => node.labels.includes(label));
        if (!isThere || this.#flaws.repeats || this.#flaws.ruthless) await this.#register(pool.name, label);
      }
    }
  }

  idle(): void {}
  stop(): void {}

  async join(): Promise<void> {
    await Promise.resolve();
  }

  labelReady(): boolean {
    return true;
  }

  getRequestHandler(): NodeRequestHandler {
    const handler: NodeRequestHandler = { imagesAvailable: () => true };
    if (!this.#flaws.launches) return handler;
    return { ...handler, launch: ({ node }) => Promise.resolve({ state: 'failed', node }) };
  }

  startNodeCleanup(): undefined {
    return undefined;
  }

  ownsResource(): boolean {
    return false;
  }

  async cleanupLeakedResources(): Promise<void> {
    await Promise.resolve();
  }

  errorLabels(): ReadonlySet<string> {
    return new Set();
  }

  nodeDeletedNotification({ pool, labels: [label] }: NodeRecord): void {
    if (!this.#flaws.forgetful && pool !== null && label !== undefined) void this.#register(pool, label);
  }

  async #register(pool: string, label: string): Promise<void> {
    const { committer, clock } = this.#context;
    const fields = { labels: [label], provider: this.config.name, pool, externalId: label, hostname: label };
    const interfaceIp = this.#flaws.address === null ? null : `${label}.fake`;
    const node = newNode({ state: 'ready', ...fields, interfaceIp }, clock.now());
    await committer.commit([{ op: 'create', path: NODE_CREATE_PATH, data: encodeNode(node), sequential: true }]);
  }
}
