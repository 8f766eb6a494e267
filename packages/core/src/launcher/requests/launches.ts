import {
  encodeNode,
  newNode,
  NODE_CREATE_PATH,
  nodeLockPath,
  withNode,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { LaunchOrder, LaunchResult } from '../../contract/driver.js';
import { LockLostError } from '../../contract/errors.js';
import { storedPart } from '../../contract/resources.js';
import type { Launch } from '../state/events.js';
import { failureKindOf, isOfQuota } from '../plan/failure.js';
import { findSuccessor, isProbe } from '../plan/health-rules.js';
import type { Context } from '../state/context.js';
import { storeNode } from '../state/store-node.js';
import { createdPath, nodeIdOf, setNode, Transaction } from '../state/transaction.js';
import { removeAbandonedLocks } from './abandoned.js';
import { NoTurnError } from './launch-turns.js';
import type { LaunchPart, Part, ReadyChanges } from './request-parts.js';
import type { RequestWork } from './request.js';

/** After so many launches of a request the process gets time for other work, as a request may have thousands of nodes. */
const LAUNCHES_PER_TURN = 50;
const RECORDS_PER_TRANSACTION = 100;

/** A new node that this process has locked, in state `building`. */
interface BuildingNode {
  readonly node: NodeRecord;
  readonly entry: string;
}

/** A part whose node record has been created. */
type RecordedPart = LaunchPart & { node: NodeRecord; entry: string };

/**
 * Starts the launch of a node for each part. Each part becomes `ready`, `failed`, or `missing` again (aborted for lack of
 * quota).
 * @param stored - the node records of the parts, if they have been stored already
 */
export function launch(work: RequestWork, parts: readonly LaunchPart[], stored?: readonly NodeId[]): void {
  if (parts.length === 0) return;
  launchParts(work, parts, stored).catch((error: unknown) => work.abandon(error));
}

/** The record of the node to launch for the part, in state `init`. */
export function draft(work: RequestWork, { label }: Part): NodeRecord {
  const { view, request, context } = work;
  const record = newNode(
    {
      state: 'init',
      labels: [label],
      provider: view.provider,
      pool: view.pool.name,
      launcher: view.launcherId,
      allocatedTo: request.id,
      tenantName: request.tenantName,
      requestor: request.requestor,
      attributes: view.pool.nodeAttributes,
      az: work.az,
      resources: storedPart(view.needOf(label)),
      launchState: view.runner.resumes ? {} : null, // an empty one: another launcher may resume the launch
    },
    context.clock.now(),
  );
  const completed = work.handler.setNodeMetadata?.(record) ?? record;
  work.az ??= completed.az;
  return completed;
}

/**
 * Resolves when no node record is being created any more.
 * @returns whether the parts know all records that were being created
 */
export async function launchesRecorded({ creating }: RequestWork): Promise<boolean> {
  let isKnown = true;
  while (creating.size > 0) {
    const ended = await Promise.allSettled(creating);
    isKnown &&= ended.every(({ status }) => status === 'fulfilled');
  }
  return isKnown;
}

/** Launches a node that exists already: it was stopped, or another launcher began to make it. The node is locked. */
export function launchExisting(work: RequestWork, part: Part): void {
  const { node, entry, launch } = part;
  if (!node || entry === undefined || !launch) return;
  work.handler.nodeReusedNotification?.(node); // the other nodes of the request go to its zone
  launchPart(work, Object.assign(part, { launch, node, entry })).catch((error: unknown) => work.abandon(error));
}

async function launchParts(
  work: RequestWork,
  parts: readonly LaunchPart[],
  stored: readonly NodeId[] | undefined,
): Promise<void> {
  const { context, creating } = work;
  const drafts = () => parts.map((part) => draft(work, part));
  const recording = recordParts(parts, stored ? beginBuilding(context, stored) : createNodes(context, drafts()));
  creating.add(recording);
  const recorded = await recording.finally(() => creating.delete(recording));
  for (let at = 0; at < recorded.length; at += LAUNCHES_PER_TURN) {
    if (at > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    if (work.abandonedFor) return; // the clean-up after the request deletes the new nodes
    for (const part of recorded.slice(at, at + LAUNCHES_PER_TURN)) {
      launchPart(work, part).catch((error: unknown) => work.abandon(error));
    }
  }
}

/** Gives the created records to the parts. */
async function recordParts(
  parts: readonly LaunchPart[],
  creation: Promise<readonly BuildingNode[]>,
): Promise<RecordedPart[]> {
  const made = await creation;
  return made.flatMap(({ node, entry }, i): RecordedPart[] => {
    const part = parts[i];
    return part ? [Object.assign(part, { node, entry })] : [];
  });
}

/**
 * Stores new records in state `init`, then locks each and makes it `building`. The lock comes first, because launchers delete
 * unlocked nodes in state `building`.
 */
async function createNodes(context: Context, drafts: readonly NodeRecord[]): Promise<BuildingNode[]> {
  const made: BuildingNode[] = [];
  for (let at = 0; at < drafts.length; at += RECORDS_PER_TRANSACTION) {
    const ids = await storeDrafts(context, drafts.slice(at, at + RECORDS_PER_TRANSACTION));
    made.push(...(await beginBuilding(context, ids)));
  }
  return made;
}

async function storeDrafts({ committer }: Context, drafts: readonly NodeRecord[]): Promise<NodeId[]> {
  const creation = new Transaction<number>();
  drafts.forEach((draft, index) =>
    creation.add(index, { op: 'create', path: NODE_CREATE_PATH, data: encodeNode(draft), sequential: true }),
  );
  const created = await creation.commit(committer);
  return drafts.map((_, index) => nodeIdOf(createdPath(created, index)));
}

/** Locks new records and makes them `building`. @param ids - at most a hundred */
async function beginBuilding(context: Context, ids: readonly NodeId[]): Promise<BuildingNode[]> {
  const { committer, mirror, clock } = context;
  const building = new Transaction<NodeId>();
  const entries = ids.map((id) => {
    const node = mirror.nodes.get(id);
    if (!node) throw new Error(`node ${id} was removed right after it was made`);
    const index = building.lock(id, nodeLockPath(id), false);
    building.add(id, setNode(withNode(node, { state: 'building' }, clock.now(), 'launcher')));
    return { id, index };
  });
  const locked = await building.commit(committer);
  return entries.map(({ id, index }) => {
    const node = mirror.nodes.get(id);
    if (!node) throw new Error(`node ${id} was removed while this process held its lock`);
    return { node, entry: createdPath(locked, index) };
  });
}

async function launchPart(work: RequestWork, part: RecordedPart): Promise<void> {
  const { events } = work.context;
  const { launch: begun, node } = part;
  releaseLaunch(part);
  events.emit('launchProgressed', { launch: begun, step: { what: 'placed', zone: node.az } });
  const called = await callDriver(work, part, begun);
  noteQuota(work, begun, called);
  const unwanted = called.state === 'failed' ? part.unwanted?.cause : undefined;
  const result: LaunchResult = unwanted ? { ...called, state: 'aborted', error: unwanted } : called;
  events.emit('launchEnded', { launch: begun, state: result.state });
  await noteEnd(work, part, result);
  work.wake();
}

/** Notes a refusal for lack of quota, before others plan with the limits. */
function noteQuota({ context, view: { runner } }: RequestWork, launch: Launch, { state, error }: LaunchResult): void {
  if (state === 'ready') runner.quotaRefusal = undefined;
  if (state !== 'aborted') return;
  runner.provider.quota?.invalidateQuotaCache();
  if (!error || !isOfQuota(error)) return;
  runner.quotaRefusal = error.message;
  context.events.emit('launchProgressed', { launch, step: { what: 'failed', error } });
}

/** From here on the launch ends with the driver's result, not with the work on the request. */
function releaseLaunch(part: Part): void {
  part.launch = undefined;
}

/** Never rejects. */
async function callDriver(work: RequestWork, part: RecordedPart, begun: Launch): Promise<LaunchResult> {
  const { view, handler, signal, request } = work;
  const { events } = work.context;
  const { node } = part;
  const label = view.pool.labels.get(part.label);
  if (!label || !handler.launch) {
    const error = new Error(`pool "${view.pool.name}" no longer launches label "${part.label}"`);
    return { state: 'failed', node, error };
  }
  const order: LaunchOrder = {
    node,
    ...(begun.node && { isResumed: true }),
    label,
    pool: view.pool,
    request,
    store: (changes) => store(work, part, node.id, changes),
    ordering: work.context.life.orders.give,
    stageBegan: (stage) => events.emit('launchProgressed', { launch: begun, step: { what: 'stage', stage, node } }),
    unwanted: part.unwanted?.signal,
    ...(view.steering && attemptEvents(work, begun)),
  };
  try {
    if (begun.node) await work.tools.turns.take(view, signal);
    // The launch of most drivers: {@link StateMachineProvider} in `cloud/state-machine/provider.ts`.
    return await handler.launch(order, signal);
  } catch (error) {
    // the request may be served elsewhere: as when the quota is used up, its node is not missed forever
    const state = error instanceof NoTurnError ? 'aborted' : 'failed';
    return { state, node: part.node, error: asError(error) };
  }
}

/** Callbacks by which a driver reports its attempts, where steering is on. */
function attemptEvents(work: RequestWork, launch: Launch): Pick<LaunchOrder, 'attemptFailed' | 'created'> {
  const { events } = work.context;
  return {
    created: () => events.emit('launchProgressed', { launch, step: { what: 'created' } }),
    attemptFailed: (error) => {
      events.emit('launchProgressed', { launch, step: { what: 'failed', error } });
      return failureKindOf(error) === 'own' || !isEnough(work);
    },
  };
}

/** Whether one attempt is enough: another provider can serve the request, or it is a probe. */
function isEnough({ request, view }: RequestWork): boolean {
  return isProbe(request) || findSuccessor(request, view) !== undefined;
}

/** Stores changes of a launch. A node that becomes ready waits for the current stage, which may fulfil the request with it. */
async function store(
  work: RequestWork,
  part: RecordedPart,
  id: NodeId,
  changes: Partial<NodeRecord>,
): Promise<NodeRecord> {
  const { node }: Part = part;
  if (work.isFulfilled) throw handedOver(id);
  if (node?.id !== id) throw new LockLostError(`node ${id}: could not store it, its launch has ended`);
  if (work.abandonedFor || changes.state !== 'ready' || part.readyChanges) {
    return (part.node = await storeNode(work.context, node, changes, work.signal));
  }
  return (part.node = await new Promise<NodeRecord>((stored, failed) => {
    part.readyChanges = { changes, stored, failed };
    work.wake();
  }));
}

function handedOver(id: NodeId): LockLostError {
  return new LockLostError(`node ${id}: could not store it, it was handed over when stored as ready`);
}

/** Stores the nodes of all launches that wait for it. */
export function storeAllReady(work: RequestWork): void {
  for (const part of work.parts.all) {
    const { node, readyChanges } = part;
    part.readyChanges = undefined;
    if (!node || !readyChanges) continue;
    if (work.isFulfilled) readyChanges.failed(handedOver(node.id));
    else storeReady(work, node, readyChanges);
  }
}

/** Stores the node of one launch that waits for it. */
export function storeReady({ context, signal }: RequestWork, node: NodeRecord, ready: ReadyChanges): void {
  storeNode(context, node, ready.changes, signal).then(ready.stored, ready.failed);
}

async function noteEnd(work: RequestWork, part: RecordedPart, result: LaunchResult): Promise<void> {
  const { context, logger, isFulfilled, parts } = work;
  if (work.abandonedFor) return;
  if (result.state === 'ready' || isFulfilled) part.state = 'ready';
  if (result.state === 'ready') return;
  const about = { nodeId: part.node.id, result: result.state, error: result.error };
  if (part.unwanted?.cause) logger.info('Ended a launch that no request needs any more', about);
  else logger.warn(isFulfilled ? 'Launch failed after its node was handed over' : 'Launch did not succeed', about);
  if (isFulfilled) return;
  part.error = result.error;
  try {
    await storeEnd(work, part, result);
  } catch (error) {
    logger.warn('Could not store how a launch ended', { nodeId: part.node.id, error });
    // an aborted node belongs to no request any more, so its lock must not stay
    if (result.state === 'aborted') {
      await removeAbandonedLocks(context, { nodes: [part.node.id] }, work.epoch, work.signal);
    }
  }
  if (result.state === 'aborted') parts.lose(part);
  else part.state = 'failed';
}

/** Stores `failed` or `aborted`. An aborted node is unlocked, so that it is deleted while another is launched. */
async function storeEnd(work: RequestWork, part: RecordedPart, result: LaunchResult): Promise<void> {
  const { context, signal } = work;
  const launchError = result.error?.message ?? null;
  const changes = part.node.state === result.state ? { launchError } : { launchError, state: result.state };
  part.node = await storeNode(context, part.node, changes, signal);
  if (result.state !== 'aborted') return;
  await context.committer.commit([{ op: 'delete', path: part.entry }]);
}
