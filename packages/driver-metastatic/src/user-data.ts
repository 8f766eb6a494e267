import type { Json, JsonObject, NodeId, NodeRecord } from '@nodepool/zk-protocol';

/** `user_data` of a backing node. */
export interface BackingData {
  /** `NodePool:metastatic:<provider>`. */
  readonly owner: string;
  /** Label of its slots. */
  readonly label: string;
  readonly slots: number;
  /** Whether it is broken and gets no more jobs. */
  readonly failed: boolean;
  /** When it was requested. */
  readonly launchedMs: number;
  /** The last node in each slot. A node named here may be deleted; a slot not named here is free. */
  readonly claims: ReadonlyMap<number, NodeId>;
}

/** Owner of a provider's backing nodes, requests and locks. */
export function identityOf(provider: string): string {
  return `NodePool:metastatic:${provider}`;
}

/** Parses the `user_data` of a node. @returns `undefined` if it is not a backing node of this owner */
export function parseBackingData(userData: Json, owner: string): BackingData | undefined {
  if (typeof userData !== 'string' || !userData.includes(owner)) return undefined;
  const data = parseObject(userData);
  if (data?.['owner'] !== owner || typeof data['label'] !== 'string') return undefined;
  const slots = data['slots'];
  if (typeof slots !== 'number' || !Number.isInteger(slots) || slots < 1) return undefined;
  const launched = data['launched'];
  return {
    owner,
    label: data['label'],
    slots,
    failed: data['failed'] === true,
    launchedMs: typeof launched === 'number' ? launched * 1000 : 0,
    claims: parseClaims(data['nodes']),
  };
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined; // not JSON, so it belongs to another program
  }
}

function parseClaims(value: Json | undefined): Map<number, NodeId> {
  const claims = new Map<number, NodeId>();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return claims;
  for (const [slot, node] of Object.entries(value)) {
    if (/^\d+$/.test(slot) && typeof node === 'string') claims.set(Number(slot), node as NodeId);
  }
  return claims;
}

/** The text to store, in the form of the Python implementation; the claims are an additional key. */
export function formatBackingData(data: BackingData): string {
  const { owner, label, slots, failed, launchedMs, claims } = data;
  const members = [
    `"owner": ${JSON.stringify(owner)}`,
    `"label": ${JSON.stringify(label)}`,
    `"slots": ${slots}`,
    `"failed": ${failed}`,
    `"launched": ${launchedMs / 1000}`,
  ];
  const taken = [...claims].sort(([a], [b]) => a - b).map(([slot, node]) => `"${slot}": "${node}"`);
  if (taken.length > 0) members.push(`"nodes": {${taken.join(', ')}}`);
  return `{${members.join(', ')}}`;
}

/** Backing node and slot of a slot node. */
export interface SlotPlace {
  readonly backingNode: NodeId;
  readonly slot: number;
}

/** Place of a node from its `driver_data`; `undefined` while it has no slot. */
export function placeOf(node: Pick<NodeRecord, 'driverData'>): SlotPlace | undefined {
  const data = node.driverData;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  const { backing_node: backingNode, slot } = data;
  if (typeof backingNode !== 'string' || typeof slot !== 'number') return undefined;
  return { backingNode: backingNode as NodeId, slot };
}
