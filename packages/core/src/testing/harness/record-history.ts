import {
  classifyPath,
  decodeNode,
  decodeRequest,
  type NodeId,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { TransactionListener } from '@nodepool/zk-protocol/memory';

/** Current and past contents of ZooKeeper, recorded in the server, so that no change is missed or late. */
export class RecordHistory {
  readonly nodes = new Map<NodeId, NodeRecord>();
  readonly requests = new Map<RequestId, RequestRecord>();
  /** Every version of every node record, in order. */
  readonly nodeHistory: NodeRecord[] = [];
  /** Called after each write, with the session that made it. */
  onWrite: (sessionId: bigint, what: string) => void = () => {};

  /** Transaction listener for the server. */
  readonly onTransaction: TransactionListener = ({ changes, timeMs }, sessionId) => {
    for (const change of changes) {
      if (change.change === 'create' || change.change === 'setData') this.#put(change.path, change.data, timeMs);
      else if (change.change === 'delete') this.#remove(change.path);
      else continue;
      this.onWrite(sessionId, `${change.change} ${change.path}`);
    }
  };

  /** All states of a node, in order. */
  statesOf(id: NodeId): string[] {
    const states = this.nodeHistory.filter((node) => node.id === id).map(({ state }) => state);
    return states.filter((state, index) => state !== states[index - 1]);
  }

  #put(path: string, data: Buffer | null, timeMs: number): void {
    const shape = classifyPath(path);
    const body = data ?? Buffer.alloc(0);
    if (shape.shape === 'node') {
      const node = decodeNode(shape.id, body, undefined, timeMs);
      if (!node) return;
      this.nodes.set(node.id, node);
      this.nodeHistory.push(node);
    } else if (shape.shape === 'request') {
      const request = decodeRequest(shape.id, body, undefined, timeMs);
      if (request) this.requests.set(request.id, request);
    }
  }

  #remove(path: string): void {
    const shape = classifyPath(path);
    if (shape.shape === 'node') this.nodes.delete(shape.id);
    else if (shape.shape === 'request') this.requests.delete(shape.id);
  }
}
