import { isZooKeeperError, type ZooKeeper } from '@nodepool/zk-protocol';
import { SOON_MS } from './soon.js';
import { waitForRequest } from './wait-for-request.js';
import { untilAnswered, ZuulLock } from './zuul-lock.js';
import {
  newRequestBody,
  nodePath,
  nowSeconds,
  parseBody,
  requestPath,
  uuidHex,
  type NodeBody,
  type RequestBody,
  type SubmitOptions,
  type Versioned,
} from './zuul-records.js';

/** A node this client holds the lock of. */
export interface HeldNode {
  readonly id: string;
  body: NodeBody;
  readonly lock: ZuulLock;
}

/** The nodes of a request cannot be taken. */
export class AcceptError extends Error {}

const FINAL_STATES = ['fulfilled', 'failed'];

/**
 * Does with nodes and requests what Zuul does, over a bare ZooKeeper connection: none of the records, locks and caches
 * under test take part in it.
 */
export class ZuulClient {
  /** Ids of the requests made, for the timeline of a failed test. */
  readonly submitted: string[] = [];
  /** What was done and when (milliseconds since the UNIX epoch). */
  readonly events: { ms: number; text: string }[] = [];

  constructor(
    readonly zk: ZooKeeper,
    readonly systemId: string = uuidHex(),
  ) {}

  #note(text: string): void {
    this.events.push({ ms: Date.now(), text });
  }

  /** Scheduler: asks for nodes. @returns the request's id */
  async submit(labels: string[], options: SubmitOptions = {}): Promise<string> {
    const body = newRequestBody(labels, options, this.systemId);
    const priority = String(options.priority ?? 200).padStart(3, '0');
    let isRetry = false;
    const id = await untilAnswered(this.zk, async () => {
      const earlier = isRetry ? await this.#findRequest(body['event_id']) : undefined;
      if (earlier !== undefined) return earlier;
      isRetry = true;
      await this.zk.ensurePath('/nodepool/requests');
      const prefix = requestPath(`${priority}-`);
      const path = await this.zk.create(prefix, JSON.stringify(body), { sequential: true });
      return path.slice(path.lastIndexOf('/') + 1);
    });
    this.submitted.push(id);
    this.#note(`submitted ${id} for ${labels.join(', ')}`);
    return id;
  }

  /** The request whose creation was not answered, if it took place. */
  async #findRequest(eventId: unknown): Promise<string | undefined> {
    for (const id of await this.zk.getChildren('/nodepool/requests')) {
      const { body } = await this.readRequest(id);
      if (body['event_id'] === eventId) return id;
    }
    return undefined;
  }

  /** Waits by a data watch until a request satisfies a condition. @throws {RequestGoneError} */
  waitForRequest(id: string, condition: (request: RequestBody) => boolean, timeoutMs = SOON_MS): Promise<RequestBody> {
    return waitForRequest(this.zk, id, condition, timeoutMs);
  }

  /** Scheduler: waits for the request to be fulfilled or failed. @throws {RequestGoneError} */
  async wait(id: string, timeoutMs = SOON_MS): Promise<RequestBody> {
    const body = await this.waitForRequest(id, (request) => FINAL_STATES.includes(request.state), timeoutMs);
    this.#note(`saw ${id} ${body.state}: ${(body.nodes ?? []).join(', ')}`);
    return body;
  }

  async readRequest(id: string): Promise<Versioned<RequestBody>> {
    const { data, stat } = await untilAnswered(this.zk, () => this.zk.getData(requestPath(id)));
    return { body: parseBody(data), version: stat.version };
  }

  async readNode(id: string): Promise<Versioned<NodeBody>> {
    const { data, stat } = await untilAnswered(this.zk, () => this.zk.getData(nodePath(id)));
    return { body: parseBody(data), version: stat.version };
  }

  /** Scheduler: changes the relative priority of an unlocked request. @returns whether it did */
  async revise(id: string, relativePriority: number): Promise<boolean> {
    const lock = new ZuulLock(this.zk, `/nodepool/requests-lock/${id}`);
    if (!(await lock.tryAcquire())) return false;
    try {
      const { body, version } = await this.readRequest(id);
      const revised = { ...body, relative_priority: relativePriority };
      await this.zk.setData(requestPath(id), JSON.stringify(revised), version);
      return true;
    } finally {
      await lock.release();
    }
  }

  /** Scheduler: deletes the request, whatever its state, without a lock. */
  async cancel(id: string): Promise<void> {
    this.#note(`deleting ${id}`);
    try {
      await untilAnswered(this.zk, () => this.zk.delete(requestPath(id)));
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  }

  /**
   * Executor: locks all nodes of a fulfilled request, in order, then deletes the request in any case.
   * @throws {AcceptError} a node is not allocated to the request, or its lock is not free soon
   */
  async accept(id: string): Promise<HeldNode[]> {
    const held: HeldNode[] = [];
    try {
      const { body } = await this.readRequest(id);
      for (const nodeId of body.nodes ?? []) held.push(await this.#takeNode(nodeId, id));
      this.#note(`accepted ${id}`);
      return held;
    } catch (error) {
      await Promise.all(held.map(({ lock }) => lock.release()));
      throw new AcceptError(`cannot accept ${id}: ${String(error)}`, { cause: error });
    } finally {
      await this.cancel(id);
    }
  }

  async #takeNode(nodeId: string, requestId: string): Promise<HeldNode> {
    const read = async (): Promise<NodeBody> => {
      const { body } = await this.readNode(nodeId);
      if (body.allocated_to === requestId) return body;
      throw new AcceptError(`node ${nodeId} is allocated to ${body.allocated_to}, not to ${requestId}`);
    };
    await read();
    const lock = new ZuulLock(this.zk, `${nodePath(nodeId)}/lock`);
    await lock.acquire(SOON_MS);
    try {
      return { id: nodeId, body: await read(), lock };
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** Writes a node as Zuul does: every key kept, the id added, whatever the version. */
  async #store(nodeId: string, body: NodeBody, changes: Partial<NodeBody>): Promise<NodeBody> {
    const stored = { ...body, ...changes, id: nodeId };
    if (changes.state !== undefined) stored.state_time = nowSeconds();
    await untilAnswered(this.zk, () => this.zk.setData(nodePath(nodeId), JSON.stringify(stored)));
    if (changes.state !== undefined) this.#note(`node ${nodeId} is ${changes.state}`);
    return stored;
  }

  /** Executor: marks nodes it holds as in use. */
  async use(nodes: readonly HeldNode[]): Promise<void> {
    for (const node of nodes) {
      const user_data = { zuul_system: this.systemId, project_name: 'example.org/project' };
      node.body = await this.#store(node.id, node.body, { state: 'in-use', user_data });
    }
  }

  /** Executor: gives nodes back, all stored before the first is unlocked. */
  async giveBack(nodes: readonly HeldNode[]): Promise<void> {
    for (const node of nodes) {
      if (node.body.state === 'in-use') node.body = await this.#store(node.id, node.body, { state: 'used' });
    }
    for (const { lock } of nodes) await lock.release();
  }

  /** Executor: keeps nodes for a human. */
  async hold(nodes: readonly HeldNode[], comment: string, expirationSeconds?: number): Promise<void> {
    for (const node of nodes) {
      const changes: Partial<NodeBody> = { state: 'hold', hold_job: 'tenant-one project test-job .*', comment };
      if (expirationSeconds !== undefined) changes['hold_expiration'] = expirationSeconds;
      node.body = await this.#store(node.id, node.body, changes);
    }
    for (const { lock } of nodes) await lock.release();
  }

  /** Scheduler: lets go of a held node. @returns false when another process has it locked */
  async releaseHeld(nodeId: string): Promise<boolean> {
    const { body } = await this.readNode(nodeId);
    const lock = new ZuulLock(this.zk, `${nodePath(nodeId)}/lock`);
    if (!(await lock.tryAcquire())) return false;
    await this.#store(nodeId, body, { state: 'used' });
    await lock.release();
    return true;
  }

  /** Waits for a request, and accepts and uses its nodes. @throws {Error} the request failed */
  async take(id: string, timeoutMs?: number): Promise<HeldNode[]> {
    const { state } = await this.wait(id, timeoutMs);
    if (state !== 'fulfilled') throw new Error(`request ${id} is ${state}`);
    const nodes = await this.accept(id);
    await this.use(nodes);
    return nodes;
  }

  /** Takes the nodes of a request and gives them back. @throws {Error} the request failed */
  async finish(id: string, timeoutMs?: number): Promise<void> {
    await this.giveBack(await this.take(id, timeoutMs));
  }

  /** Asks for nodes and takes them. @throws {Error} the request failed */
  async getNodes(labels: string[], options: SubmitOptions = {}): Promise<HeldNode[]> {
    return this.take(await this.submit(labels, options));
  }

  /** Asks for one node and takes it. @throws {Error} the request failed */
  async getNode(label: string): Promise<HeldNode> {
    const [node] = await this.getNodes([label]);
    if (!node) throw new Error(`the request for ${label} was fulfilled without a node`);
    return node;
  }
}
