import type { JsonObject } from '@nodepool/zk-protocol';

/** A node as seen by {@link InvariantChecker}: decoded from the stored body without our codecs. */
export interface NodeEntry {
  readonly id: string;
  readonly body: JsonObject;
  readonly state: string;
  readonly allocatedTo: string | null;
  readonly labels: readonly string[];
  /** Whether an operator has changed the node. Invariants no longer apply to it. */
  readonly touched: boolean;
}

/** A request as seen by {@link InvariantChecker}. */
export interface RequestEntry {
  readonly id: string;
  readonly body: JsonObject;
  readonly state: string;
  readonly labels: readonly string[];
  readonly nodes: readonly string[];
}

/** Whether a metastatic provider uses the node as a host for slots. */
export function isBacking({ state, body }: NodeEntry): boolean {
  const userData = body['user_data'];
  return state === 'in-use' && typeof userData === 'string' && userData.includes('NodePool:metastatic:');
}

/** Host and slot number of a node; `undefined` if its host has no slots. */
export function slotKey({ body }: NodeEntry): string | undefined {
  if (typeof body['slot'] !== 'number' || typeof body['hostname'] !== 'string') return undefined;
  return `${body['hostname']}:${JSON.stringify(body['connection_port'])}#${body['slot']}`;
}

/** Provider, host and port of a node that is a machine of its own; `undefined`: it is a slot, or is not reached by its address. */
export function addressKey({ body }: NodeEntry): string | undefined {
  const { provider, interface_ip: host, connection_type: type, connection_port: port } = body;
  const isSlot = typeof body['slot'] === 'number';
  const ofCluster = type === 'namespace' || type === 'project' || type === 'kubectl';
  if (typeof provider !== 'string' || typeof host !== 'string' || host === '' || isSlot || ofCluster) return undefined;
  return `${provider} ${host} port ${typeof port === 'number' ? port : 22}`;
}

/** Creates a node entry from its stored body. */
export function nodeEntry(id: string, body: JsonObject, touched: boolean): NodeEntry {
  const type = body['type'];
  return {
    id,
    body,
    touched,
    state: typeof body['state'] === 'string' ? body['state'] : '',
    allocatedTo: typeof body['allocated_to'] === 'string' ? body['allocated_to'] : null,
    labels: (Array.isArray(type) ? type : [type]) as string[],
  };
}

/** Creates a request entry from its stored body. */
export function requestEntry(id: string, body: JsonObject): RequestEntry {
  return {
    id,
    body,
    state: typeof body['state'] === 'string' ? body['state'] : '',
    labels: (body['node_types'] ?? []) as string[],
    nodes: (body['nodes'] ?? []) as string[],
  };
}

/** Parses the body of a znode; `undefined` if it is empty. */
export function parseBody(data: Buffer | null): JsonObject | undefined {
  if (data === null || data.length === 0) return undefined;
  return JSON.parse(data.toString('utf8')) as JsonObject;
}
