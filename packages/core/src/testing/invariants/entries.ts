import type { JsonObject } from '@nodepool/zk-protocol';

/** A node as the {@link InvariantChecker} has it: the stored body, not what our own codecs make of it. */
export interface NodeEntry {
  readonly id: string;
  readonly body: JsonObject;
  readonly state: string;
  readonly allocatedTo: string | null;
  readonly labels: readonly string[];
  /** A person has meddled with it: promises about it no longer hold. */
  readonly touched: boolean;
}

/** A request as the {@link InvariantChecker} has it. */
export interface RequestEntry {
  readonly id: string;
  readonly body: JsonObject;
  readonly state: string;
  readonly labels: readonly string[];
  readonly nodes: readonly string[];
}

/** Whether a metastatic provider has taken a node to cut it into slots. */
export function isBacking({ state, body }: NodeEntry): boolean {
  const userData = body['user_data'];
  return state === 'in-use' && typeof userData === 'string' && userData.includes('NodePool:metastatic:');
}

/** The slot of a host that a node stands for; `undefined` unless its host has slots. */
export function slotKey({ body }: NodeEntry): string | undefined {
  if (typeof body['slot'] !== 'number' || typeof body['hostname'] !== 'string') return undefined;
  return `${body['hostname']}:${JSON.stringify(body['connection_port'])}#${body['slot']}`;
}

/** A node from its stored body. */
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

/** A request from its stored body. */
export function requestEntry(id: string, body: JsonObject): RequestEntry {
  return {
    id,
    body,
    state: typeof body['state'] === 'string' ? body['state'] : '',
    labels: (body['node_types'] ?? []) as string[],
    nodes: (body['nodes'] ?? []) as string[],
  };
}

/** The body of a znode; `undefined`: it has none. */
export function parseBody(data: Buffer | null): JsonObject | undefined {
  if (data === null || data.length === 0) return undefined;
  return JSON.parse(data.toString('utf8')) as JsonObject;
}
