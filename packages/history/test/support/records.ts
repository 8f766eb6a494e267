import {
  newNode,
  newRequest,
  type NodeId,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';

/** A node of a provider "rack". */
export function node(id: string, changes: Partial<NodeRecord>): NodeRecord {
  const made = newNode({ state: 'ready', provider: 'rack', pool: 'main', labels: ['small'] }, 0);
  return { ...made, id: id as NodeId, ...changes };
}

/** A waiting request. */
export function request(id: string, changes: Partial<RequestRecord>): RequestRecord {
  return { ...newRequest({ labels: ['small'], requestor: 'zuul-system' }, 0), id: id as RequestId, ...changes };
}
