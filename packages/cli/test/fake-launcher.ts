import {
  decodeNode,
  decodeRequest,
  encodeNode,
  encodeRequest,
  nodePath,
  requestPath,
  REQUESTS_ROOT,
  withNode,
  withRequest,
} from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, RequestId, RequestRecord, ZooKeeper } from '@nodepool/zk-protocol';

/** Does to requests and nodes what a launcher does. */
export class FakeLauncher {
  constructor(private readonly zk: ZooKeeper) {}

  async readNode(id: NodeId): Promise<NodeRecord> {
    const { data, stat } = await this.zk.getData(nodePath(id));
    const node = decodeNode(id, data, stat, 0);
    if (!node) throw new Error(`the record of node ${id} is empty`);
    return node;
  }

  /** Changes a node whatever its state. */
  async changeNode(id: NodeId, change: Parameters<typeof withNode>[1]): Promise<void> {
    await this.zk.setData(nodePath(id), encodeNode(withNode(await this.readNode(id), change, 0)));
  }

  /** Waits for the next request. */
  async nextRequest(): Promise<RequestRecord> {
    for (;;) {
      let wake = () => {};
      const changed = new Promise<void>((resolve) => (wake = resolve));
      const [id] = (await this.zk.getChildren(REQUESTS_ROOT, () => wake())) as RequestId[];
      if (id !== undefined) {
        const { data, stat } = await this.zk.getData(requestPath(id));
        const request = decodeRequest(id, data, stat, 0);
        if (request) return request;
      }
      await changed;
    }
  }

  async store(request: RequestRecord, change: Parameters<typeof withRequest>[1]): Promise<void> {
    await this.zk.setData(requestPath(request.id), encodeRequest(withRequest(request, change, Date.now())));
  }

  /** Fulfils the next request with these nodes. */
  async fulfil(nodeIds: NodeId[]): Promise<RequestRecord> {
    const request = await this.nextRequest();
    for (const id of nodeIds) await this.changeNode(id, { allocatedTo: request.id });
    await this.store(request, { state: 'fulfilled', nodeIds });
    return request;
  }
}
