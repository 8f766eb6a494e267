import {
  COMPONENTS_ROOT,
  decodeNode,
  decodeRequest,
  delay,
  encodeComponent,
  encodeNode,
  encodeRequest,
  isZooKeeperError,
  newPoolComponent,
  newRequest,
  nodeLockPath,
  nodePath,
  NODES_ROOT,
  requestCreatePath,
  requestLockPath,
  requestPath,
  REQUESTS_ROOT,
  withNode,
  withRequest,
  ZkLock,
  type LauncherId,
  type NodeId,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { SimulatedProcess } from '../world/process.js';
import type { World } from '../world/world.js';

const PASS_MS = 1_000;
const REQUESTOR = 'NodePool:min-ready';
const PRIORITY = 900;

/** The pool of the original, and the free nodes that it keeps of each of its labels. */
export interface OriginalPool {
  readonly provider: string;
  readonly pool: string;
  readonly minReady: Readonly<Record<string, number>>;
}

/**
 * A launcher of the original's kind, as far as it meets ours: it requests what its `min-ready` lacks, counting `ready` nodes and its own
 * requests alone, gives `ready` nodes to requests, and writes without versions. It has no cloud: it launches and deletes nothing.
 */
export class OriginalLauncher {
  readonly #process: SimulatedProcess;
  readonly #asked = new Map<string, RequestId[]>();
  /** Requests for its `min-ready`, since its start. */
  requested = 0;

  constructor(
    world: World,
    readonly name: string,
    readonly of: OriginalPool,
  ) {
    this.#process = new SimulatedProcess(world, name, world.server);
  }

  async start(): Promise<void> {
    const { zk, clock } = this.#process;
    await zk.whenConnected();
    for (const path of [`${COMPONENTS_ROOT}/pool`, REQUESTS_ROOT, NODES_ROOT]) await zk.ensurePath(path);
    const { provider, pool, minReady } = this.of;
    const entry = newPoolComponent({
      ...{ hostname: this.name, state: 'running', version: '11.0.0', name: pool, providerName: provider },
      ...{ launcherId: `${this.name}-PoolWorker.${provider}-${pool}` as LauncherId },
      supportedLabels: Object.keys(minReady),
    });
    const options = { ephemeral: true, sequential: true };
    await zk.create(`${COMPONENTS_ROOT}/pool/${this.name}`, encodeComponent(entry), options);
    void this.#pass(clock);
  }

  /** SIGTERM. */
  kill(): void {
    this.#process.kill();
  }

  async #pass(clock: SimulatedProcess['clock']): Promise<void> {
    for (;;) {
      try {
        const nodes = await this.#nodes();
        for (const [label, least] of Object.entries(this.of.minReady)) await this.#keep(label, least, nodes);
        await this.#assign(nodes);
      } catch (error) {
        if (!isZooKeeperError(error)) throw error;
      }
      await delay(clock, PASS_MS);
    }
  }

  async #nodes(): Promise<NodeRecord[]> {
    const { zk, clock } = this.#process;
    const ids = (await zk.getChildren(NODES_ROOT)) as NodeId[];
    const read = await Promise.all(
      ids.map((id) => zk.getData(nodePath(id)).then(({ data, stat }) => decodeNode(id, data, stat, clock.now()), gone)),
    );
    return read.filter((node) => node !== undefined);
  }

  async #request(id: RequestId): Promise<RequestRecord | undefined> {
    const { zk, clock } = this.#process;
    return zk.getData(requestPath(id)).then(({ data, stat }) => decodeRequest(id, data, stat, clock.now()), gone);
  }

  /** Requests what is missing, unless requests of its own for the label are open. */
  async #keep(label: string, least: number, nodes: readonly NodeRecord[]): Promise<void> {
    const { zk, clock } = this.#process;
    const open: RequestId[] = [];
    for (const id of this.#asked.get(label) ?? []) if (!(await this.#isDone(id))) open.push(id);
    this.#asked.set(label, open);
    if (open.length > 0) return;
    const ready = nodes.filter((node) => isFree(node) && node.labels.includes(label)).length;
    for (let i = ready; i < least; i++) {
      const fields = { labels: [label], requestor: REQUESTOR, reuse: false };
      const body = encodeRequest(newRequest(fields, clock.now()));
      const path = await zk.create(requestCreatePath(PRIORITY), body, { ephemeral: true, sequential: true });
      open.push(path.slice(REQUESTS_ROOT.length + 1) as RequestId);
      this.requested++;
    }
  }

  async #isDone(id: RequestId): Promise<boolean> {
    const { zk, clock } = this.#process;
    const request = await this.#request(id);
    if (request && request.state !== 'fulfilled' && request.state !== 'failed') return false;
    for (const node of await this.#nodes()) {
      if (!request?.nodeIds.includes(node.id) || node.allocatedTo !== id) continue;
      await zk.setData(nodePath(node.id), encodeNode(withNode(node, { allocatedTo: null }, clock.now())));
    }
    if (request) await zk.delete(requestPath(id));
    return true;
  }

  /** Gives ready nodes of its pool to requests for one label. */
  async #assign(nodes: readonly NodeRecord[]): Promise<void> {
    const { zk, clock } = this.#process;
    const { provider, pool } = this.of;
    const taken = new Set<NodeId>();
    for (const id of ((await zk.getChildren(REQUESTS_ROOT)) as RequestId[]).sort()) {
      const request = await this.#request(id);
      if (request?.state !== 'requested' || !request.reuse || request.labels.length !== 1) continue;
      const node = nodes.find(
        (each) =>
          isFree(each) &&
          !taken.has(each.id) &&
          each.provider === provider &&
          each.pool === pool &&
          fits(each, request),
      );
      if (!node) continue;
      taken.add(node.id);
      const lock = new ZkLock(zk, requestLockPath(id), { clock });
      if (await lock.acquire({ blocking: false })) await this.#give(id, node.id).finally(() => lock.release());
    }
  }

  async #give(id: RequestId, nodeId: NodeId): Promise<void> {
    const { zk, clock } = this.#process;
    const lock = new ZkLock(zk, nodeLockPath(nodeId), { clock });
    if (!(await lock.acquire({ blocking: false }).catch(() => false))) return;
    try {
      const request = await this.#request(id);
      const node = (await this.#nodes()).find((each) => each.id === nodeId);
      if (request?.state !== 'requested' || !node || !isFree(node)) return;
      const store = (changes: Parameters<typeof withRequest>[1]) =>
        zk.setData(requestPath(id), encodeRequest(withRequest(request, changes, clock.now())));
      await store({ state: 'pending' });
      await zk.setData(nodePath(nodeId), encodeNode(withNode(node, { allocatedTo: id }, clock.now())));
      await store({ state: 'fulfilled', nodeIds: [nodeId] });
    } finally {
      await lock.release();
    }
  }
}

const isFree = ({ state, allocatedTo }: NodeRecord) => state === 'ready' && allocatedTo === null;
const fits = (node: NodeRecord, { labels }: RequestRecord) => labels.every((label) => node.labels.includes(label));

function gone(error: unknown): undefined {
  if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
}
