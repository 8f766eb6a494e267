import {
  encodeLease,
  encodeRequest,
  isNodepoolError,
  LEASE_REQUESTOR,
  leaseHolding,
  leasePath,
  leaseSlotPath,
  leaseTokenPath,
  newRequest,
  requestCreatePath,
  requestLockPath,
  requestPath,
  uuidHex,
  withLease,
  withNode,
  withRequest,
  type LeaseRecord,
  type NodeRecord,
  type Operation,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { UNALLOCATED } from '../../launcher/requests/release.js';
import { setRequest } from '../../launcher/requests/writes.js';
import type { Context } from '../../launcher/state/context.js';
import { proveNodeUnlocked, proveUnlocked, setNode, Transaction } from '../../launcher/state/transaction.js';

/** What refused a transaction about a lease. */
export type LeaseOwner = 'lease' | 'request' | 'token' | 'slot' | 'node';

const MS_PER_SECOND = 1000;

/** Records store whole seconds, and a node must not expire before its lease. */
const toWholeSeconds = (ms: number) => Math.max(1, Math.ceil(ms / MS_PER_SECOND)) * MS_PER_SECOND;

function setLease(lease: LeaseRecord): Operation {
  return { op: 'set', path: leasePath(lease.id), data: encodeLease(lease), version: lease.stat?.version ?? -1 };
}

/** Commits a transaction whose first operation stores the lease. @returns the lease as stored */
async function commitLease(
  { committer }: Context,
  transaction: Transaction<LeaseOwner>,
  lease: LeaseRecord,
): Promise<LeaseRecord> {
  const [result] = await transaction.commit(committer);
  return result?.op === 'set' ? { ...lease, stat: result.stat } : lease;
}

const removeSlots = ({ token, slots }: LeaseRecord): Operation[] =>
  slots.map((slot) => ({ op: 'delete', path: leaseSlotPath(token, slot) }));

/** The node as the lease holds it. */
export const isHeldFor = (node: NodeRecord, lease: string): boolean => leaseHolding(node) === lease;

/**
 * Stores a new lease together with its request. The request is persistent: it keeps its place when the launcher ends.
 * @param tokenVersion - version of the token's record; a token that has changed or was revoked meanwhile creates nothing
 * @throws {Refusal} of {@link LeaseOwner}: `lease` exists already, `slot` is occupied, `token` has changed
 */
export async function createLease(
  context: Context,
  lease: LeaseRecord,
  tokenVersion: number | undefined,
): Promise<void> {
  const transaction = new Transaction<LeaseOwner>();
  transaction.add('lease', { op: 'create', path: leasePath(lease.id), data: encodeLease(lease) });
  if (tokenVersion !== undefined) {
    transaction.add('token', { op: 'check', path: leaseTokenPath(lease.token), version: tokenVersion });
  }
  for (const slot of lease.slots) transaction.add('slot', { op: 'create', path: leaseSlotPath(lease.token, slot) });
  transaction.add('request', requestFor(lease, context.clock.now()));
  await transaction.commit(context.committer);
}

function requestFor({ id, labels, priority, tenantName }: LeaseRecord, nowMs: number): Operation {
  const requestorData = { lease: id };
  const fields = { labels, tenantName, requestor: LEASE_REQUESTOR, requestorData, eventId: uuidHex() };
  const request = newRequest({ ...fields, createdTimeMs: nowMs }, nowMs);
  return { op: 'create', path: requestCreatePath(priority), data: encodeRequest(request), sequential: true };
}

/**
 * Puts the nodes of the fulfilled request on hold for the lease, and removes the request, in one transaction.
 * @throws {Refusal} of {@link LeaseOwner}
 */
export async function activate(
  context: Context,
  lease: LeaseRecord,
  request: RequestRecord,
  nodes: readonly NodeRecord[],
): Promise<void> {
  const nowMs = context.clock.now();
  const nodeIds = nodes.map(({ id }) => id);
  const transaction = new Transaction<LeaseOwner>();
  const dueTimeMs = nowMs + lease.ttlMs;
  const active = { state: 'active', nodeIds, dueTimeMs } as const;
  transaction.add('lease', setLease(withLease(lease, active, nowMs)));
  transaction.add('request', { op: 'delete', path: requestPath(request.id), version: request.stat?.version ?? -1 });
  transaction.add('node', ...nodes.flatMap((node) => hold(context, lease, node, nowMs)));
  await transaction.commit(context.committer);
  context.logger.info('Lease is active', { lease: lease.id, owner: lease.owner, nodes: nodeIds });
}

function hold(context: Context, lease: LeaseRecord, node: NodeRecord, nowMs: number): Operation[] {
  if (isHeldFor(node, lease.id)) {
    // no proof of no lock: a longer hold takes nothing from the holder, an operator, who writes later or made this be refused
    const holdExpirationMs = toWholeSeconds(nowMs - node.stateTimeMs + lease.ttlMs);
    return [setNode(withNode(node, { holdExpirationMs }, nowMs))];
  }
  const held = { allocatedTo: null, userData: { lease: lease.id }, comment: `lease ${lease.id}` };
  const holdExpirationMs = toWholeSeconds(lease.ttlMs);
  const operation = setNode(withNode(node, { state: 'hold', ...held, holdExpirationMs }, nowMs, 'operator'));
  return [...proveNodeUnlocked(context, node), operation];
}

/**
 * Puts the fulfilled request of a waiting lease back into the queue, at its place: it lost a node before the lease became
 * active. Its other nodes become free, or are deleted if they are on hold already, as older releases do it for a key.
 * @throws {Refusal} its lock is still held, or it was changed meanwhile
 */
export async function requestAgain(
  context: Context,
  lease: LeaseRecord,
  request: RequestRecord,
  nodes: readonly NodeRecord[],
): Promise<void> {
  const { clock, committer, mirror } = context;
  const nowMs = clock.now();
  const transaction = new Transaction<LeaseOwner>();
  transaction.add('lease', setLease(withLease(lease, { nodeIds: [] }, nowMs)));
  transaction.add(
    'request',
    ...proveUnlocked(requestLockPath(request.id), mirror.requests.hasLockDirectory(request.id)),
  );
  transaction.add('request', setRequest(withRequest(request, { state: 'requested', nodeIds: [] }, nowMs, 'launcher')));
  for (const node of nodes) {
    transaction.add('node', ...proveNodeUnlocked(context, node));
    const changes = isHeldFor(node, lease.id) ? ({ state: 'deleting' } as const) : UNALLOCATED;
    transaction.add('node', setNode(withNode(node, changes, nowMs, 'launcher')));
  }
  await transaction.commit(committer);
}

/** Frees the numbers of a lease that is over. @throws {Refusal} it was changed meanwhile */
export async function freeSlots(context: Context, lease: LeaseRecord): Promise<void> {
  const transaction = new Transaction<LeaseOwner>();
  transaction.add('lease', setLease(withLease(lease, { slots: [] }, context.clock.now())));
  transaction.add('slot', ...removeSlots(lease));
  await transaction.commit(context.committer);
}

/**
 * Ends a lease, removes its request and returns these nodes, in one transaction. The others are returned with {@link returnNode}, its
 * numbers with {@link freeSlots}.
 * @throws {Refusal} of {@link LeaseOwner}
 */
export async function endLease(
  context: Context,
  lease: LeaseRecord,
  end: { readonly state: 'ended' | 'failed'; readonly endReason: string },
  request: RequestRecord | undefined,
  nodes: readonly NodeRecord[],
): Promise<LeaseRecord> {
  const transaction = new Transaction<LeaseOwner>();
  const nowMs = context.clock.now();
  const ended = withLease(lease, { ...end, dueTimeMs: null }, nowMs);
  transaction.add('lease', setLease(ended));
  if (request) transaction.add('request', { op: 'delete', path: requestPath(request.id) });
  for (const node of nodes) transaction.add('node', ...returning(context, node));
  return commitLease(context, transaction, ended);
}

/** Marks a node of an ended lease for deletion. @throws {Refusal} it is locked, or was changed meanwhile */
export async function returnNode(context: Context, node: NodeRecord): Promise<void> {
  const transaction = new Transaction<LeaseOwner>();
  transaction.add('node', ...returning(context, node));
  await transaction.commit(context.committer);
}

function returning(context: Context, node: NodeRecord): Operation[] {
  const operation = setNode(withNode(node, { state: 'deleting' }, context.clock.now(), 'launcher'));
  return [...proveNodeUnlocked(context, node), operation];
}

/**
 * Renews a lease. A waiting one waits for at least `ttlMs` from now; the nodes of an active one stay for `ttlMs` from now.
 * @throws {Refusal} of {@link LeaseOwner}
 */
export async function renewLease(
  context: Context,
  lease: LeaseRecord,
  ttlMs: number,
  nodes: readonly NodeRecord[],
): Promise<LeaseRecord> {
  const nowMs = context.clock.now();
  const dueTimeMs = nowMs + ttlMs;
  const lastMs = lease.dueTimeMs === null ? null : Math.max(lease.dueTimeMs, dueTimeMs);
  const renewed = withLease(lease, lease.state === 'active' ? { dueTimeMs, ttlMs } : { dueTimeMs: lastMs }, nowMs);
  const transaction = new Transaction<LeaseOwner>();
  transaction.add('lease', setLease(renewed));
  for (const node of nodes) {
    const holdExpirationMs = toWholeSeconds(dueTimeMs - node.stateTimeMs);
    transaction.add('node', setNode(withNode(node, { holdExpirationMs }, nowMs)));
  }
  return commitLease(context, transaction, renewed);
}

/** Removes the request of a lease that is over. @throws {Refusal} it is gone already, or the lease was changed meanwhile */
export async function removeRequest(context: Context, lease: LeaseRecord, { id }: RequestRecord): Promise<void> {
  const transaction = new Transaction<LeaseOwner>();
  transaction.add('lease', setLease(withLease(lease, { requestId: id }, context.clock.now())));
  transaction.add('request', { op: 'delete', path: requestPath(id) });
  await transaction.commit(context.committer);
}

/** Removes the record of a lease that is over. */
export async function removeLease({ committer }: Context, lease: LeaseRecord): Promise<void> {
  try {
    await committer.commit([{ op: 'delete', path: leasePath(lease.id), version: lease.stat?.version ?? -1 }]);
  } catch (error) {
    if (!isNodepoolError(error, 'ZK_NO_NODE') && !isNodepoolError(error, 'ZK_BAD_VERSION')) throw error;
  }
}
