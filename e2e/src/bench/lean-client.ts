import { randomUUID } from 'node:crypto';
import { isZooKeeperError, type ZooKeeper } from '@nodepool/zk-protocol';
import type { Percentiles } from './process-usage.js';

const REQUESTS = '/nodepool/requests';
const NODES = '/nodepool/nodes';

interface Answer {
  state: string;
  nodes: string[];
}

/** A node that this client has locked. */
export interface LeanNode {
  node: string;
  entry: string;
  body: Record<string, unknown>;
  /** When its record was created, by ZooKeeper's clock. */
  createdMs: number;
}

/** A fulfilled request with its nodes. */
export interface LeanGrant {
  /** Place in handling order. */
  sequence: number;
  fulfilMs: number;
  nodes: LeanNode[];
}

/** Result of a load process, sent as JSON. */
export interface LoadResult {
  requestsPerSecond: number;
  /** From the request's creation to the moment this client has read `fulfilled`. */
  fulfilMs: Percentiles;
  /** From the unlocking of a used node to the deletion of its record. */
  takenBackMs: Percentiles;
  requests: number;
  /** Requests whose node was made before that of an earlier request. */
  overtaking: number;
}

/**
 * Asks for nodes, uses and returns them like Zuul: one watch on all requests, every node locked with the kazoo recipe,
 * records read before and after locking. Never returns a node unused.
 */
export class LeanClient {
  readonly #zk: ZooKeeper;
  readonly #labels: readonly string[];
  readonly #final = new Map<string, (answer: Answer) => void>();
  readonly #removed = new Map<string, () => void>();
  #takenBackMs: number[] = [];

  constructor(zk: ZooKeeper, labels: readonly string[]) {
    this.#zk = zk;
    this.#labels = labels;
  }

  async start(): Promise<void> {
    await this.#zk.ensurePath(REQUESTS);
    await this.#zk.addWatch(REQUESTS, 'persistent-recursive', (event) => {
      const id = event.path.slice(REQUESTS.length + 1);
      if (event.type === 'changed' && this.#final.has(id)) void this.#look(id);
    });
    await this.#zk.addWatch(NODES, 'persistent-recursive', (event) => {
      if (event.type === 'deleted') this.#removed.get(event.path.slice(NODES.length + 1))?.();
    });
  }

  /** Durations of returns since the last call, from unlocking a used node to the deletion of its record. */
  takeReturnTimes(): number[] {
    const times = this.#takenBackMs;
    this.#takenBackMs = [];
    return times;
  }

  /** Asks for one node of each label and takes them. @throws {Error} the request failed */
  async obtain(): Promise<LeanGrant> {
    const begin = performance.now();
    const path = await this.#zk.create(`${REQUESTS}/200-`, JSON.stringify(this.#body()), { sequential: true });
    const id = path.slice(REQUESTS.length + 1);
    const answered = new Promise<Answer>((resolve) => this.#final.set(id, resolve));
    void this.#look(id);
    const { state, nodes } = await answered;
    const fulfilMs = performance.now() - begin;
    if (state !== 'fulfilled') throw new Error(`request ${id} is ${state}`);
    const held = await Promise.all(nodes.map((node) => this.#accept(id, node)));
    await this.#zk.delete(path);
    return { sequence: Number(id.slice(id.indexOf('-') + 1)), fulfilMs, nodes: held };
  }

  /** Uses a node and gives it back; does not wait until it has been deleted. */
  async use({ node, entry, body }: LeanNode): Promise<void> {
    for (const state of ['in-use', 'used']) {
      const next = { ...body, state, state_time: Date.now() / 1000, user_data: { project_name: 'p' } };
      await this.#zk.setData(`${NODES}/${node}`, JSON.stringify(next));
    }
    const begin = performance.now();
    this.#removed.set(node, () => {
      this.#removed.delete(node);
      this.#takenBackMs.push(performance.now() - begin);
    });
    await this.#zk.delete(entry);
  }

  #body(): object {
    const now = Date.now() / 1000;
    return {
      requestor_data: { build_set_uuid: randomUUID(), tenant_name: 't', pipeline_name: 'check', job_name: 'job' },
      node_types: this.#labels,
      requestor: 'load',
      created_time: now,
      provider: null,
      state: 'requested',
      state_time: now,
      relative_priority: 0,
      event_id: randomUUID().replaceAll('-', ''),
      tenant_name: 't',
    };
  }

  async #look(id: string): Promise<void> {
    const { data } = await this.#zk.getData(`${REQUESTS}/${id}`);
    const body = JSON.parse(data.toString()) as Answer;
    if (body.state !== 'fulfilled' && body.state !== 'failed') return;
    this.#final.get(id)?.(body);
    this.#final.delete(id);
  }

  async #accept(request: string, node: string): Promise<LeanNode> {
    const path = `${NODES}/${node}`;
    await this.#readAllocated(path, request);
    if (!(await this.#zk.exists(`${path}/lock`))) await this.#createLockRoot(path);
    const prefix = `${randomUUID().replaceAll('-', '')}__lock__`;
    const entry = await this.#zk.create(`${path}/lock/${prefix}`, '', { ephemeral: true, sequential: true });
    const contenders = await this.#zk.getChildren(`${path}/lock`);
    if (contenders.length !== 1) throw new Error(`node ${node} is locked by another process`);
    return { node, entry, ...(await this.#readAllocated(path, request)) };
  }

  async #createLockRoot(path: string): Promise<void> {
    try {
      await this.#zk.create(`${path}/lock`);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
    }
  }

  async #readAllocated(path: string, request: string): Promise<Pick<LeanNode, 'body' | 'createdMs'>> {
    const { data, stat } = await this.#zk.getData(path);
    const body = JSON.parse(data.toString()) as Record<string, unknown>;
    if (body['allocated_to'] !== request) throw new Error(`${path} is not allocated to ${request}`);
    return { body, createdMs: stat.ctime };
  }
}

/** Nodes of one decision are made within this time, in any order. */
const SAME_TIME_MS = 20;

/** Number of requests that got their node before an earlier request did. */
export function countOvertaking(grants: readonly LeanGrant[]): number {
  let latestMs = 0;
  let count = 0;
  for (const { nodes } of [...grants].sort((a, b) => a.sequence - b.sequence)) {
    const createdMs = nodes[0]?.createdMs ?? 0;
    if (createdMs < latestMs - SAME_TIME_MS) count++;
    latestMs = Math.max(latestMs, createdMs);
  }
  return count;
}
