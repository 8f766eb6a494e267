import { randomUUID } from 'node:crypto';
import { connect, type ZooKeeper } from '@nodepool/zk-protocol';

/**
 * The floor: answers each request for label `a` with the least ZooKeeper work the protocol allows, without any policy,
 * error handling or cache. What a real launcher costs is measured against it.
 */
class Floor {
  readonly #zk: ZooKeeper;
  readonly #slot: string;
  readonly #free: string[] = [];
  readonly #waiting: string[] = [];
  readonly #inUse = new Set<string>();
  operations = 0;

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
      if (event.type !== 'created') return;
      this.#waiting.push(event.path);
      this.#serve();
    });
    await this.#zk.addWatch('/nodepool/nodes', 'persistent-recursive', (event) => {
      const [, , , id, lock, entry] = event.path.split('/');
      if (event.type !== 'deleted' || lock === undefined || entry === undefined || id === undefined) return;
      if (this.#inUse.has(id)) this.#inUse.delete(id);
      else void this.#takeBack(id);
    });
  }

  #serve(): void {
    while (this.#free.length > 0 && this.#waiting.length > 0) {
      const request = this.#waiting.shift();
      const node = this.#free.shift();
      if (request !== undefined && node !== undefined) void this.#fulfil(request, node);
    }
  }

  async #fulfil(request: string, node: string): Promise<void> {
    const id = request.slice(request.lastIndexOf('/') + 1);
    const requestLock = `/nodepool/requests-lock/${id}`;
    const nodePath = `/nodepool/nodes/${node}`;
    this.operations += 9;
    const [{ data }, , requestEntry, , nodeEntry] = await Promise.all([
      this.#zk.getData(request),
      this.#zk.create(requestLock),
      this.#lockEntry(requestLock),
      this.#zk.create(`${nodePath}/lock`),
      this.#lockEntry(`${nodePath}/lock`),
    ]);
    const body = JSON.parse(data.toString()) as Record<string, unknown>;
    const fulfilled = { ...body, state: 'fulfilled', nodes: [node], declined_by: [], reuse: true };
    this.#inUse.add(node);
    await Promise.all([
      this.#zk.setData(nodePath, this.#slot.replace('"allocated_to":null', `"allocated_to":"${id}"`)),
      this.#zk.delete(nodeEntry),
      this.#zk.setData(request, JSON.stringify(fulfilled)),
      this.#zk.delete(requestEntry),
    ]);
  }

  #lockEntry(root: string): Promise<string> {
    const name = `${randomUUID().replaceAll('-', '')}__lock__`;
    return this.#zk.create(`${root}/${name}`, '', { ephemeral: true, sequential: true });
  }

  async #takeBack(id: string): Promise<void> {
    this.operations += 3;
    await Promise.all([
      this.#zk.delete(`/nodepool/nodes/${id}/lock`),
      this.#zk.delete(`/nodepool/nodes/${id}`),
      this.#register(),
    ]);
  }

  async #register(): Promise<void> {
    const path = await this.#zk.create('/nodepool/nodes/', this.#slot, { sequential: true });
    this.#free.push(path.slice(path.lastIndexOf('/') + 1));
    this.#serve();
  }
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
  if (message === 'counters') process.send?.({ requests: zk.counters.requests, operations: zk.counters.operations });
});
process.send?.('ready');
