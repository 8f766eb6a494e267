import { randomUUID } from 'node:crypto';
import { connect, type OperationResult, type ZooKeeper } from '@nodepool/zk-protocol';

/**
 * The baseline for a launcher: answers requests for label `a` with as little ZooKeeper work as the protocol allows, and
 * without policy, error handling or cache. Reads the requests of one turn together, serves each with two transactions, and
 * takes its node back with a third.
 */
class Floor {
  readonly #zk: ZooKeeper;
  readonly #slot: string;
  readonly #free: string[] = [];
  readonly #arrived: string[] = [];
  readonly #waiting: { readonly path: string; readonly body: Record<string, unknown> }[] = [];
  readonly #inUse = new Set<string>();
  #isReading = false;

  constructor(zk: ZooKeeper, slot: string) {
    this.#zk = zk;
    this.#slot = slot;
  }

  async start(nodes: number): Promise<void> {
    for (const path of ['/nodepool/requests', '/nodepool/requests-lock', '/nodepool/nodes']) {
      await this.#zk.ensurePath(path);
    }
    await Promise.all(Array.from({ length: nodes }, () => this.#register()));
    await this.#zk.addWatch('/nodepool/requests', 'persistent-recursive', (event) => {
      if (event.type === 'created') this.#read(event.path);
    });
    await this.#zk.addWatch('/nodepool/nodes', 'persistent-recursive', (event) => {
      const [, , , id, lock, entry] = event.path.split('/');
      if (event.type !== 'deleted' || lock === undefined || entry === undefined || id === undefined) return;
      if (this.#inUse.has(id)) this.#inUse.delete(id);
      else void this.#takeBack(id);
    });
  }

  /** Collects the requests that arrive in one turn, to read them together. */
  #read(path: string): void {
    this.#arrived.push(path);
    if (this.#isReading) return;
    this.#isReading = true;
    setImmediate(() => void this.#readArrived());
  }

  async #readArrived(): Promise<void> {
    this.#isReading = false;
    const paths = this.#arrived.splice(0);
    for (const result of await this.#zk.multiRead(paths.map((path) => ({ read: 'data', path })))) {
      if (result.read !== 'data') continue;
      this.#waiting.push({ path: result.path, body: JSON.parse(result.data.toString()) as Record<string, unknown> });
    }
    this.#serve();
  }

  #serve(): void {
    while (this.#free.length > 0 && this.#waiting.length > 0) {
      const request = this.#waiting.shift();
      const node = this.#free.shift();
      if (request !== undefined && node !== undefined) void this.#fulfil(request.path, request.body, node);
    }
  }

  async #fulfil(request: string, body: Record<string, unknown>, node: string): Promise<void> {
    const id = request.slice(request.lastIndexOf('/') + 1);
    const requestLock = `/nodepool/requests-lock/${id}`;
    const nodePath = `/nodepool/nodes/${node}`;
    const locked = await this.#zk.multi([
      { op: 'create', path: requestLock },
      { op: 'create', path: lockEntry(requestLock), ephemeral: true, sequential: true },
      { op: 'set', path: request, data: JSON.stringify({ ...body, state: 'pending' }) },
      { op: 'create', path: `${nodePath}/lock` },
      { op: 'create', path: lockEntry(`${nodePath}/lock`), ephemeral: true, sequential: true },
      { op: 'set', path: nodePath, data: this.#slot.replace('"allocated_to":null', `"allocated_to":"${id}"`) },
    ]);
    const fulfilled = { ...body, state: 'fulfilled', nodes: [node], declined_by: [], reuse: true };
    this.#inUse.add(node);
    await this.#zk.multi([
      { op: 'set', path: request, data: JSON.stringify(fulfilled) },
      { op: 'delete', path: createdPath(locked[4]) },
      { op: 'delete', path: createdPath(locked[1]) },
    ]);
  }

  async #takeBack(id: string): Promise<void> {
    const results = await this.#zk.multi([
      { op: 'delete', path: `/nodepool/nodes/${id}/lock` },
      { op: 'delete', path: `/nodepool/nodes/${id}` },
      { op: 'create', path: '/nodepool/nodes/', data: this.#slot, sequential: true },
    ]);
    this.#offer(createdPath(results[2]));
  }

  async #register(): Promise<void> {
    this.#offer(await this.#zk.create('/nodepool/nodes/', this.#slot, { sequential: true }));
  }

  #offer(path: string): void {
    this.#free.push(path.slice(path.lastIndexOf('/') + 1));
    this.#serve();
  }
}

function lockEntry(root: string): string {
  return `${root}/${randomUUID().replaceAll('-', '')}__lock__`;
}

function createdPath(result: OperationResult | undefined): string {
  if (result?.op !== 'create') throw new Error('nothing was created');
  return result.path;
}

const { connectString, nodes, slot } = JSON.parse(process.argv[2] ?? '{}') as {
  connectString: string;
  nodes: number;
  slot: string;
};
const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
const floor = new Floor(zk, slot);
await floor.start(nodes);
process.on('message', (message) => {
  if (message === 'counters')
    process.send?.({ requests: zk.counters.requests, operations: zk.counters.operations, writes: zk.counters.writes });
});
process.send?.('ready');
