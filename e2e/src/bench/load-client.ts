import { randomUUID } from 'node:crypto';
import { connect, isZooKeeperError, type ZooKeeper } from '@nodepool/zk-protocol';
import { percentiles, type Percentiles } from './process-usage.js';

/** What the load client is told, as JSON in its first argument. */
export interface LoadOptions {
  connectString: string;
  labels: string[];
  inFlight: number;
  /** Requests measured; as many as fit into a tenth of it run before, unmeasured. */
  requests: number;
}

/** What the load client prints, as JSON, when it is done. */
export interface LoadResult {
  requestsPerSecond: number;
  /** From the request's creation to the moment this client has read `fulfilled`. */
  fulfilMs: Percentiles;
  /** From the unlocking of a used node to the moment its record is gone. */
  takenBackMs: Percentiles;
  requests: number;
}

const REQUESTS = '/nodepool/requests';
const NODES = '/nodepool/nodes';

/**
 * Asks for nodes, uses and returns them like Zuul: one watch on all requests, every node locked with the kazoo recipe,
 * records read before and after locking.
 */
class LoadClient {
  readonly #zk: ZooKeeper;
  readonly #options: LoadOptions;
  readonly #final = new Map<string, (body: { state: string; nodes: string[] }) => void>();
  readonly #removed = new Map<string, () => void>();
  readonly #fulfilMs: number[] = [];
  readonly #takenBackMs: number[] = [];
  #left: number;

  constructor(zk: ZooKeeper, options: LoadOptions) {
    this.#zk = zk;
    this.#options = options;
    this.#left = options.requests;
  }

  async run(): Promise<LoadResult> {
    await this.#zk.ensurePath(REQUESTS);
    await this.#zk.addWatch(REQUESTS, 'persistent-recursive', (event) => {
      const id = event.path.slice(REQUESTS.length + 1);
      if (event.type === 'changed' && this.#final.has(id)) void this.#look(id);
    });
    await this.#zk.addWatch(NODES, 'persistent-recursive', (event) => {
      if (event.type === 'deleted') this.#removed.get(event.path.slice(NODES.length + 1))?.();
    });
    const warmUp = Math.max(this.#options.inFlight, Math.floor(this.#options.requests / 10));
    await this.#many(warmUp);
    this.#fulfilMs.length = 0;
    this.#takenBackMs.length = 0;
    process.send?.('measuring');
    const begin = performance.now();
    await this.#many(this.#options.requests);
    const seconds = (performance.now() - begin) / 1000;
    return {
      requestsPerSecond: this.#options.requests / seconds,
      fulfilMs: percentiles(this.#fulfilMs),
      takenBackMs: percentiles(this.#takenBackMs),
      requests: this.#options.requests,
    };
  }

  async #many(count: number): Promise<void> {
    this.#left = count;
    const lane = async (): Promise<void> => {
      while (this.#left-- > 0) await this.#one();
    };
    await Promise.all(Array.from({ length: Math.min(this.#options.inFlight, count) }, lane));
  }

  async #one(): Promise<void> {
    const now = Date.now() / 1000;
    const body = {
      requestor_data: { build_set_uuid: randomUUID(), tenant_name: 't', pipeline_name: 'check', job_name: 'job' },
      node_types: this.#options.labels,
      requestor: 'load',
      created_time: now,
      provider: null,
      state: 'requested',
      state_time: now,
      relative_priority: 0,
      event_id: randomUUID().replaceAll('-', ''),
      tenant_name: 't',
    };
    const begin = performance.now();
    const path = await this.#zk.create(`${REQUESTS}/200-`, JSON.stringify(body), { sequential: true });
    const id = path.slice(REQUESTS.length + 1);
    const answered = new Promise<{ state: string; nodes: string[] }>((resolve) => this.#final.set(id, resolve));
    void this.#look(id);
    const { state, nodes } = await answered;
    this.#fulfilMs.push(performance.now() - begin);
    if (state !== 'fulfilled') throw new Error(`request ${id} is ${state}`);
    const locks = await Promise.all(nodes.map((node) => this.#accept(id, node)));
    await this.#zk.delete(path);
    await Promise.all(locks.map((lock) => this.#use(lock)));
  }

  async #look(id: string): Promise<void> {
    const { data } = await this.#zk.getData(`${REQUESTS}/${id}`);
    const body = JSON.parse(data.toString()) as { state: string; nodes: string[] };
    if (body.state !== 'fulfilled' && body.state !== 'failed') return;
    this.#final.get(id)?.(body);
    this.#final.delete(id);
  }

  async #accept(
    request: string,
    node: string,
  ): Promise<{ node: string; entry: string; body: Record<string, unknown> }> {
    const path = `${NODES}/${node}`;
    await this.#readAllocated(path, request);
    if (!(await this.#zk.exists(`${path}/lock`))) await this.#createLockRoot(path);
    const prefix = `${randomUUID().replaceAll('-', '')}__lock__`;
    const entry = await this.#zk.create(`${path}/lock/${prefix}`, '', { ephemeral: true, sequential: true });
    const contenders = await this.#zk.getChildren(`${path}/lock`);
    if (contenders.length !== 1) throw new Error(`node ${node} is locked by somebody else`);
    return { node, entry, body: await this.#readAllocated(path, request) };
  }

  async #createLockRoot(path: string): Promise<void> {
    try {
      await this.#zk.create(`${path}/lock`);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
    }
  }

  async #readAllocated(path: string, request: string): Promise<Record<string, unknown>> {
    const { data } = await this.#zk.getData(path);
    const body = JSON.parse(data.toString()) as Record<string, unknown>;
    if (body['allocated_to'] !== request) throw new Error(`${path} is not allocated to ${request}`);
    return body;
  }

  async #use(lock: { node: string; entry: string; body: Record<string, unknown> }): Promise<void> {
    const path = `${NODES}/${lock.node}`;
    for (const state of ['in-use', 'used']) {
      const body = { ...lock.body, state, state_time: Date.now() / 1000, user_data: { project_name: 'p' } };
      await this.#zk.setData(path, JSON.stringify(body));
    }
    const begin = performance.now();
    this.#removed.set(lock.node, () => {
      this.#removed.delete(lock.node);
      this.#takenBackMs.push(performance.now() - begin);
    });
    await this.#zk.delete(lock.entry);
  }
}

const options = JSON.parse(process.argv[2] ?? '{}') as LoadOptions;
const zk = await connect({ servers: options.connectString, sessionTimeoutMs: 30_000 });
process.send?.({ result: await new LoadClient(zk, options).run() });
await zk.close();
process.disconnect();
