import { silentLogger } from '@nodepool/core';
import {
  createNodeCache,
  createRequestCache,
  decodeNode,
  decodeRequest,
  encodeNode,
  encodeRequest,
  newRequest,
  nodeLockPath,
  nodePath,
  requestCreatePath,
  requestPath,
  withNode,
  ZkLock,
  type Clock,
  type NodeCache,
  type NodeId,
  type NodeRecord,
  type NodeState,
  type RequestCache,
  type RequestId,
  type RequestRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';

const WAIT_MS = 50_000;

/** A client that uses nodes as Zuul does. */
export class TestClient {
  readonly zk: ZooKeeper;
  readonly nodes: NodeCache;
  readonly requests: RequestCache;
  /** Nodes in use. */
  readonly held = new Map<NodeId, ZkLock>();
  readonly #clock: Clock;

  private constructor(zk: ZooKeeper, clock: Clock) {
    const caches = { zk, clock, logger: silentLogger };
    this.zk = zk;
    this.nodes = createNodeCache(caches);
    this.requests = createRequestCache(caches);
    this.#clock = clock;
  }

  static async start(zk: ZooKeeper, clock: Clock): Promise<TestClient> {
    await zk.ensurePath('/nodepool/nodes');
    await zk.ensurePath('/nodepool/requests');
    const client = new TestClient(zk, clock);
    await Promise.all([client.nodes.start(), client.requests.start()]);
    return client;
  }

  all(): NodeRecord[] {
    return [...this.nodes.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  slots(): NodeRecord[] {
    return this.all().filter((node) => node.provider === 'meta');
  }

  backing(): NodeRecord[] {
    return this.all().filter((node) => node.provider === 'rack' && node.state === 'in-use');
  }

  backingRequests(): RequestRecord[] {
    return [...this.requests.values()].filter(({ requestor }) => requestor === 'NodePool:metastatic:meta');
  }

  /** Waits until the condition is true of what ZooKeeper shows. */
  until<T>(what: string, condition: () => T | undefined | false): Promise<T> {
    const { nodes, requests } = this;
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = condition();
        if (found === undefined || found === false) return;
        end();
        resolve(found);
      };
      const timer = setTimeout(() => {
        end();
        reject(new Error(`never came true: ${what}\n${describeAll(this.all(), [...requests.values()])}`));
      }, WAIT_MS);
      const unsubscribe = [nodes.onChange(look), requests.onChange(look), nodes.onLockChange(look)];
      const end = () => {
        clearTimeout(timer);
        for (const each of unsubscribe) each();
      };
      look();
    });
  }

  async ask(labels: string[]): Promise<RequestId> {
    const request = newRequest({ labels, requestor: 'test', eventId: 'e' }, this.#clock.now());
    const path = await this.zk.create(requestCreatePath(200), encodeRequest(request), { sequential: true });
    return path.slice(path.lastIndexOf('/') + 1) as RequestId;
  }

  ended(id: RequestId): Promise<RequestRecord> {
    return this.until(`request ${id} ends`, () => {
      const request = this.requests.get(id);
      return request && (request.state === 'fulfilled' || request.state === 'failed') ? request : undefined;
    });
  }

  async read(id: NodeId): Promise<NodeRecord> {
    return this.until(`node ${id} is there`, () => this.nodes.get(id));
  }

  /** Locks the nodes of a fulfilled request, deletes it, and begins to use them. */
  async use(id: RequestId): Promise<NodeRecord[]> {
    const { zk } = this;
    const clock = this.#clock;
    const request = await this.ended(id);
    if (request.state !== 'fulfilled') throw new Error(`request ${id} is ${request.state}`);
    for (const node of request.nodeIds) {
      const lock = new ZkLock(zk, nodeLockPath(node), { clock });
      await lock.acquire({ timeoutMs: 50_000 });
      this.held.set(node, lock);
    }
    await zk.delete(requestPath(id));
    const used: NodeRecord[] = [];
    for (const node of request.nodeIds) {
      const { data, stat } = await zk.getData(nodePath(node));
      const record = decodeNode(node, data, stat, clock.now());
      if (!record) throw new Error(`node ${node} is empty`);
      await zk.setData(nodePath(node), encodeNode(withNode(record, { state: 'in-use' }, clock.now(), 'zuul')));
      used.push(record);
    }
    return used;
  }

  /** Marks a free node for deletion as an operator does. */
  async expire(node: NodeRecord): Promise<void> {
    const deleting = encodeNode(withNode(node, { state: 'deleting' }, this.#clock.now(), 'operator'));
    await this.zk.setData(nodePath(node.id), deleting, node.stat?.version).catch(() => undefined); // taken after all
  }

  /** Returns a node as Zuul does. */
  async giveBack(id: NodeId): Promise<void> {
    await this.#write(id, 'used');
    await this.held.get(id)?.release();
    this.held.delete(id);
  }

  async requestOf(id: RequestId): Promise<RequestRecord | undefined> {
    const { data, stat } = await this.zk.getData(requestPath(id));
    return decodeRequest(id, data, stat, this.#clock.now());
  }

  async #write(id: NodeId, state: NodeState): Promise<void> {
    const { data } = await this.zk.getData(nodePath(id));
    const current = this.nodes.get(id);
    if (!current) throw new Error(`there is no node ${id}`);
    const raw = JSON.parse(data.toString('utf8')) as NodeRecord['raw'];
    const node = withNode({ ...current, raw }, { state }, this.#clock.now());
    const allocatedTo = (raw['allocated_to'] ?? null) as RequestId;
    await this.zk.setData(nodePath(id), encodeNode({ ...node, allocatedTo }));
  }
}

function describeAll(nodes: NodeRecord[], requests: RequestRecord[]): string {
  const lines = nodes.map(
    (node) =>
      `node ${node.id} ${node.state} ${String(node.provider)} ${node.labels.join()} slot=${String(node.slot)} ` +
      `for=${String(node.allocatedTo)} ${JSON.stringify(node.driverData)} ${JSON.stringify(node.userData)}`,
  );
  return [...lines, ...requests.map((each) => `request ${each.id} ${each.state} ${each.labels.join()}`)].join('\n');
}
