import type { Stat } from '../client/contract/types.js';
import {
  copyWith,
  keepUnknown,
  NO_BODY,
  number,
  readBody,
  seconds,
  secondsOrNull,
  text,
  texts,
  timeMs,
  toBuffer,
} from './fields.js';
import { LEASES_ROOT } from './paths.js';
import type { Json, JsonObject, NodeId, NodeRecord, RequestId } from './types.js';

/**
 * - `waiting` for its nodes; its request exists
 * - `active`: its nodes are on hold until it expires
 * - `ended`: returned, expired, given up, or its nodes are gone
 * - `failed`: no pool can serve it
 */
export const LEASE_STATES = ['waiting', 'active', 'ended', 'failed'] as const;
/** One of {@link LEASE_STATES}. */
export type LeaseState = (typeof LEASE_STATES)[number];

/** The requestor of the requests of leases, as listings show it. */
export const LEASE_REQUESTOR = 'NodePool:lease';

/**
 * Nodes lent over HTTP. The request of a waiting lease names it in `requestorData`, and the nodes of an active one in
 * `userData`, as `{ lease: ID }`.
 */
export interface LeaseRecord {
  readonly id: string;
  readonly state: LeaseState;
  readonly stateTimeMs: number;
  readonly createdTimeMs: number;
  /** Who may see and end it. */
  readonly owner: string;
  /** Name of the token that requested it. */
  readonly token: string;
  /** One node each, in this order. */
  readonly labels: readonly string[];
  /** 100 high, 200 normal, 300 low. */
  readonly priority: number;
  readonly tenantName: string | null;
  readonly reason: string;
  /** How long it is active, from the moment its nodes are ready or it is renewed. */
  readonly ttlMs: number;
  /** While it waits: when it gives up, or `null` to wait without a limit. While it is active: when it expires. */
  readonly dueTimeMs: number | null;
  /** Its nodes, in the order of the labels; none while it waits. */
  readonly nodeIds: readonly NodeId[];
  /** Why it ended or failed, a sentence. */
  readonly endReason: string | null;
  /**
   * Numbers it occupies among the nodes that its token may have at a time, until its nodes and the launches for it are gone; empty
   * without a limit.
   */
  readonly slots: readonly number[];
  /** The request that it had when it ended: nodes may still be launched for it. `null`: none is known. */
  readonly requestId: RequestId | null;
  /** Digest of what was requested, to recognize a repetition with the same idempotency key. */
  readonly digest: string;
  /** The launcher that takes care of it; others step in when it does not. */
  readonly keeper: string;
  /** Public key of the lessee, `<type> <base64>`; `null`: none. */
  readonly publicKey: string | null;
  readonly raw: Readonly<JsonObject>;
  readonly stat: Stat | undefined;
}

/** Path of a lease's record. */
export const leasePath = (id: string): string => `${LEASES_ROOT}/${id}`;

const isState = (state: string | null): state is LeaseState =>
  (LEASE_STATES as readonly (string | null)[]).includes(state);

/**
 * Reads a lease.
 * @returns `undefined` for an empty body, or a state that this release does not know
 * @throws {RecordError} the body is not JSON, or a value has the wrong type
 */
export function decodeLease(id: string, body: Buffer, stat: Stat | undefined): LeaseRecord | undefined {
  return readBody('lease', id, body, (raw) => {
    const state = text(raw.state, 'state');
    if (!isState(state)) return undefined;
    const createdTimeMs = timeMs(raw.created_time, 'created_time') ?? stat?.ctime ?? 0;
    return {
      id,
      state,
      stateTimeMs: timeMs(raw.state_time, 'state_time') ?? createdTimeMs,
      createdTimeMs,
      owner: text(raw.owner, 'owner') ?? '',
      token: text(raw.token, 'token') ?? '',
      labels: texts(raw.labels, 'labels'),
      priority: number(raw.priority, 'priority') ?? 200,
      tenantName: text(raw.tenant_name, 'tenant_name'),
      reason: text(raw.reason, 'reason') ?? '',
      ttlMs: timeMs(raw.ttl, 'ttl') ?? 0,
      dueTimeMs: timeMs(raw.due_time, 'due_time'),
      nodeIds: texts(raw.nodes, 'nodes') as NodeId[],
      endReason: text(raw.end_reason, 'end_reason'),
      slots: numbers(raw.slots),
      requestId: text(raw.request, 'request') as RequestId | null,
      digest: text(raw.digest, 'digest') ?? '',
      keeper: text(raw.keeper, 'keeper') ?? '',
      publicKey: text(raw.public_key, 'public_key'),
      raw,
      stat,
    };
  });
}

function numbers(value: Json | undefined): number[] {
  return Array.isArray(value) ? value.filter((each): each is number => typeof each === 'number') : [];
}

const KNOWN_KEYS: ReadonlySet<string> = new Set(
  (
    'state state_time created_time owner token labels priority tenant_name reason ttl due_time nodes end_reason ' +
    'slots request digest keeper public_key'
  ).split(' '),
);

/** The body to store. */
export function encodeLease(lease: LeaseRecord): Buffer {
  const { raw } = lease;
  const body: { [key: string]: Json } = {
    state: lease.state,
    state_time: seconds(lease.stateTimeMs, raw.state_time),
    created_time: seconds(lease.createdTimeMs, raw.created_time),
    owner: lease.owner,
    token: lease.token,
    labels: [...lease.labels],
    priority: lease.priority,
    tenant_name: lease.tenantName,
    reason: lease.reason,
    ttl: lease.ttlMs / 1000,
    due_time: secondsOrNull(lease.dueTimeMs, raw.due_time),
    nodes: [...lease.nodeIds],
    end_reason: lease.endReason,
    slots: [...lease.slots],
    request: lease.requestId,
    digest: lease.digest,
    keeper: lease.keeper,
  };
  if (lease.publicKey !== null) body.public_key = lease.publicKey;
  keepUnknown(body, raw, KNOWN_KEYS);
  return toBuffer(body, raw);
}

/** What a new lease is made of. */
export type NewLease = Pick<LeaseRecord, 'id' | 'owner' | 'token' | 'labels' | 'ttlMs' | 'digest' | 'keeper'> &
  Partial<Pick<LeaseRecord, 'priority' | 'tenantName' | 'reason' | 'dueTimeMs' | 'slots' | 'publicKey'>>;

/** A waiting lease that is not stored yet. */
export function newLease(fields: NewLease, nowMs: number): LeaseRecord {
  return {
    ...{ state: 'waiting', stateTimeMs: nowMs, createdTimeMs: nowMs, priority: 200, tenantName: null, reason: '' },
    ...{ dueTimeMs: null, nodeIds: [], endReason: null, slots: [], requestId: null, publicKey: null, ...fields },
    ...{ raw: NO_BODY, stat: undefined },
  };
}

/** A copy with some fields changed. Setting a state, even the same one, sets its time to now. */
export function withLease(
  lease: LeaseRecord,
  changes: Partial<Omit<LeaseRecord, 'id' | 'raw' | 'stat'>>,
  nowMs: number,
): LeaseRecord {
  return copyWith<LeaseRecord>(lease, changes.state === undefined ? changes : { stateTimeMs: nowMs, ...changes });
}

/** The lease to which a node is lent; `undefined`: to none. */
export function leaseHolding({ state, userData }: Pick<NodeRecord, 'state' | 'userData'>): string | undefined {
  return state === 'hold' ? leaseOf(userData) : undefined;
}

/** Whether the node is on hold for a lessee, who uses and returns it, and not for a person who looks at it. */
export const isLent = (node: Pick<NodeRecord, 'state' | 'userData'>): boolean => leaseHolding(node) !== undefined;

/** The lease named in a request's `requestorData` or a node's `userData`. */
export function leaseOf(data: Json): string | undefined {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  return typeof data['lease'] === 'string' ? data['lease'] : undefined;
}
