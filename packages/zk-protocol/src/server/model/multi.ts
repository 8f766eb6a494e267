import type { ModelConnection } from './connection.js';
import { ErrorCode } from './constants.js';
import type { DataTree, Touched, TreeChange, Undo } from './data-tree.js';
import { MAX_TRANSACTION_BYTES } from './limits.js';
import { planWrite } from './planner.js';
import type { MultiResult } from './replies.js';
import type { MultiPart } from './requests.js';
import type { Sliced } from './sliced.js';
import { statOf } from './znode.js';
import type { Acl } from '../../client/contract/types.js';

/** Outcome of a multi. A failed one changed nothing. */
export interface MultiOutcome {
  results: MultiResult[];
  changes: TreeChange[];
  /** The affected znodes of each change. */
  touched: Touched[];
}

/** Applies all operations in order, or none: a failed one reverts the earlier ones. */
export function* applyMulti(
  tree: DataTree,
  parts: readonly MultiPart[],
  connection: ModelConnection,
  { zxid, timeMs }: { zxid: number; timeMs: number },
): Sliced<MultiOutcome> {
  const outcome: MultiOutcome = { results: [], changes: [], touched: [] };
  const undo: Undo[] = [];
  let size = 0;
  for (const part of parts) {
    let plan = planWrite(tree, part, connection);
    if (typeof plan === 'object') size += sizeOfChange(plan);
    if (size > MAX_TRANSACTION_BYTES) plan = ErrorCode.marshalling;
    if (typeof plan === 'number') {
      for (const revert of undo.reverse()) {
        revert();
        yield;
      }
      return { results: failedResults(parts.length, outcome.results.length, plan), changes: [], touched: [] };
    }
    if (plan !== undefined) {
      outcome.touched.push(tree.apply(plan, zxid, timeMs, undo));
      outcome.changes.push(plan);
    }
    outcome.results.push(resultOf(tree, part, plan?.path ?? part.path));
    yield;
  }
  return outcome;
}

function resultOf(tree: DataTree, part: MultiPart, path: string): MultiResult {
  if (part.op === 'delete' || part.op === 'check') return { result: part.op };
  if (part.op === 'create') return { result: 'create', path };
  const node = tree.get(path);
  if (node === undefined) throw new Error(`embedded ZooKeeper: znode ${path} vanished inside a multi`);
  return part.op === 'setData'
    ? { result: 'setData', stat: statOf(node) }
    : { result: 'create2', path, stat: statOf(node) };
}

/** Results of a multi whose operation `failedAt` failed: 0 before it, -2 after it. */
function failedResults(count: number, failedAt: number, error: number): MultiResult[] {
  return Array.from({ length: count }, (_, index): MultiResult => {
    if (index < failedAt) return { result: 'error', error: ErrorCode.ok };
    return { result: 'error', error: index === failedAt ? error : ErrorCode.runtimeInconsistency };
  });
}

/** Upper bound of a change's bytes in the log. */
function sizeOfChange(change: TreeChange): number {
  const data = 'data' in change ? (change.data?.length ?? 0) : 0;
  const acl = 'acl' in change ? sizeOfAcl(change.acl) : 0;
  return 64 + change.path.length * 3 + data + acl;
}

function sizeOfAcl(acl: readonly Acl[]): number {
  let size = 0;
  for (const { scheme, id } of acl) size += 12 + (scheme.length + id.length) * 3;
  return size;
}
