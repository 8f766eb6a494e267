import {
  encodeNode,
  encodeRequest,
  NODE_CREATE_PATH,
  nodeLockPath,
  requestLockPath,
  requestPath,
  withNode,
  withRequest,
  type LauncherId,
  type NodeFields,
  type NodeId,
  type NodeRecord,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { createdPath, isRefusal, nodeIdOf, setNode, Transaction, type RefusalKind } from '../state/transaction.js';

/** The subject of an operation in an allocation: the request or one of its nodes. */
export type Subject = { kind: 'request' } | { kind: 'node'; id: NodeId };

/** Lock entries obtained. */
export interface Allocation {
  /** Entry of the request's lock; `undefined` if the request was locked before. */
  readonly requestEntry: string | undefined;
  readonly nodeEntries: ReadonlyMap<NodeId, string>;
  /** The created records, in the order of their drafts. */
  readonly made: readonly NodeId[];
}

/** Another launcher was faster, or a record differs from the mirror. Nothing was changed. */
export interface AllocationConflict {
  readonly conflict: RefusalKind;
  readonly subject: Subject;
}

/** The number of nodes locked in one transaction, which keeps it far below ZooKeeper's size limit. */
export const NODES_PER_TRANSACTION = 100;

/** A transaction, and the positions of the lock entries in its results. */
interface AllocationPlan {
  readonly transaction: Transaction<Subject>;
  readonly requestIndex: number | undefined;
  readonly nodeIndexes: ReadonlyMap<NodeId, number>;
  readonly draftIndexes: readonly number[];
}

/** What an allocation does beside locking nodes. */
interface AllocationOptions {
  /** Also lock the request and make it `pending`. */
  readonly acceptRequest: boolean;
  /** Node records to create for it. */
  readonly drafts?: readonly NodeRecord[];
  /** Id of the pool that launches those of the nodes which are not ready. */
  readonly launcher?: LauncherId | undefined;
}

type CommitResults = Awaited<ReturnType<Transaction<Subject>['commit']>>;

const REQUEST: Subject = { kind: 'request' };
const TRIES = 4;

/**
 * Locks nodes and allocates them to a request; with `acceptRequest` also locks the request and makes it `pending`, and with
 * drafts creates these records, all in one transaction.
 */
export async function allocate(
  context: Context,
  request: RequestRecord,
  nodes: readonly NodeRecord[],
  options: AllocationOptions,
): Promise<Allocation | AllocationConflict> {
  const directories = new Map<string, boolean>();
  for (let attempt = 1; ; attempt++) {
    const plan = buildAllocation(context, request, nodes, options, directories);
    try {
      return readAllocation(plan, await plan.transaction.commit(context.committer));
    } catch (error) {
      if (!isRefusal<Subject>(error)) throw error;
      const wrongGuess = error.kind === 'directory-exists' || error.kind === 'directory-missing';
      if (!wrongGuess || attempt === TRIES) return { conflict: error.kind, subject: error.owner };
      directories.set(keyOf(error.owner), error.kind === 'directory-exists');
    }
  }
}

function buildAllocation(
  context: Context,
  request: RequestRecord,
  nodes: readonly NodeRecord[],
  { acceptRequest, drafts = [], launcher }: AllocationOptions,
  directories: ReadonlyMap<string, boolean>,
): AllocationPlan {
  const now = context.clock.now();
  const transaction = new Transaction<Subject>();
  let requestIndex: number | undefined;
  if (acceptRequest) {
    const pending = withRequest(request, { state: 'pending' }, now, 'launcher');
    const directoryExists = directories.get(keyOf(REQUEST)) ?? context.mirror.requests.hasLockDirectory(request.id);
    requestIndex = transaction.lock(REQUEST, requestLockPath(request.id), directoryExists);
    transaction.add(REQUEST, {
      op: 'set',
      path: requestPath(request.id),
      data: encodeRequest(pending),
      version: request.stat?.version ?? -1,
    });
  }
  const nodeIndexes = new Map<NodeId, number>();
  for (const node of nodes) {
    const subject: Subject = { kind: 'node', id: node.id };
    const directoryExists = directories.get(keyOf(subject)) ?? context.mirror.nodes.hasLockDirectory(node.id);
    nodeIndexes.set(node.id, transaction.lock(subject, nodeLockPath(node.id), directoryExists));
    const { id: allocatedTo, tenantName, requestor } = request;
    const changes = { allocatedTo, tenantName, requestor, ...(launcher !== undefined && toLaunch(node, launcher)) };
    transaction.add(subject, setNode(withNode(node, changes, now, 'launcher')));
  }
  const draftIndexes = drafts.map((draft) =>
    transaction.add(REQUEST, { op: 'create', path: NODE_CREATE_PATH, data: encodeNode(draft), sequential: true }),
  );
  return { transaction, requestIndex, nodeIndexes, draftIndexes };
}

/**
 * What changes in a node that is not ready and is launched: it was stopped, is being made, or is about to be, with a record that was
 * never locked.
 */
function toLaunch({ state }: NodeRecord, launcher: LauncherId): NodeFields {
  if (state === 'ready') return {};
  return state === 'building' ? { launcher } : { launcher, state: 'building', comment: null };
}

/** Reads the lock entries and the new records from the results of the transaction. */
function readAllocation(plan: AllocationPlan, results: CommitResults): Allocation {
  const { requestIndex, nodeIndexes, draftIndexes } = plan;
  const nodeEntries = new Map<NodeId, string>();
  for (const [id, index] of nodeIndexes) nodeEntries.set(id, createdPath(results, index));
  return {
    requestEntry: requestIndex === undefined ? undefined : createdPath(results, requestIndex),
    nodeEntries,
    made: draftIndexes.map((index) => nodeIdOf(createdPath(results, index))),
  };
}

function keyOf(subject: Subject): string {
  return subject.kind === 'request' ? 'request' : subject.id;
}
