import { TransitionError } from './errors.js';
import { NODE_STATES, type NodeRecord, type NodeState, type RequestState } from './types.js';

/** Writer of a node's state. `launcher` includes all its workers, `operator` is the command line. */
export type NodeActor = 'launcher' | 'static' | 'metastatic' | 'zuul' | 'operator';
/** Writer of a request's state. `requestor` is Zuul, min-ready, metastatic or the command line. */
export type RequestActor = 'launcher' | 'requestor';

/** An allowed state change. `from` is `undefined` for a new record, `to` for its removal. */
export interface Transition<State extends string, Actor extends string> {
  readonly from: State | 'any' | undefined;
  readonly to: State | undefined;
  readonly actor: Actor;
  /** Required lock: of the record, the permanent one of a metastatic backing node, or none. */
  readonly lock: 'none' | 'record' | 'lasting';
  readonly when: string;
}

/** An allowed change of a node. */
export type NodeTransition = Transition<NodeState, NodeActor>;
/** An allowed change of a request. */
export type RequestTransition = Transition<RequestState, RequestActor>;

/** States in which an unlocked node is garbage and gets deleted. */
export const UNLOCKED_GARBAGE_STATES: ReadonlySet<string> = new Set<NodeState>([
  'used',
  'in-use',
  'building',
  'failed',
  'aborted',
  'deleting',
  'deleted',
]);

const KNOWN_NODE_STATES: ReadonlySet<string> = new Set(NODE_STATES);

/** False for a state of a newer release or another program; leave such a node unchanged. */
export function isKnownNodeState(state: string): state is NodeState {
  return KNOWN_NODE_STATES.has(state);
}

/** All state changes of nodes in the data model. Our writes are checked against this table. */
export const NODE_TRANSITIONS: readonly NodeTransition[] = [
  { from: undefined, to: 'init', actor: 'launcher', lock: 'none', when: 'made for a request' },
  { from: 'init', to: 'building', actor: 'launcher', lock: 'record', when: 'locked, launch begins' },
  { from: undefined, to: 'ready', actor: 'static', lock: 'none', when: 'registered from the configuration' },
  { from: 'building', to: 'ready', actor: 'launcher', lock: 'record', when: 'launched, host keys scanned' },
  { from: 'building', to: 'aborted', actor: 'launcher', lock: 'record', when: 'out of quota during the launch' },
  { from: 'building', to: 'failed', actor: 'launcher', lock: 'record', when: 'launch attempts used up' },
  { from: 'ready', to: 'ready', actor: 'launcher', lock: 'record', when: 'allocated or deallocated' },
  { from: 'ready', to: 'testing', actor: 'launcher', lock: 'record', when: 'a free node is being stopped' },
  { from: 'testing', to: 'testing', actor: 'launcher', lock: 'record', when: 'stopped' },
  { from: 'testing', to: 'building', actor: 'launcher', lock: 'record', when: 'started for a request' },
  { from: 'ready', to: 'in-use', actor: 'zuul', lock: 'record', when: 'the job starts' },
  { from: 'ready', to: 'in-use', actor: 'operator', lock: 'record', when: 'taken from the command line' },
  { from: 'ready', to: 'in-use', actor: 'metastatic', lock: 'lasting', when: 'taken over as a backing node' },
  { from: 'in-use', to: 'used', actor: 'zuul', lock: 'record', when: 'the job is over' },
  { from: 'in-use', to: 'used', actor: 'operator', lock: 'record', when: 'returned from the command line' },
  { from: 'in-use', to: 'used', actor: 'metastatic', lock: 'lasting', when: 'the backing node is idle' },
  { from: 'in-use', to: 'hold', actor: 'zuul', lock: 'record', when: 'an autohold matched' },
  { from: 'hold', to: 'used', actor: 'zuul', lock: 'record', when: 'the autohold was deleted or expired' },
  { from: 'any', to: 'hold', actor: 'operator', lock: 'record', when: 'nodepool hold' },
  { from: 'any', to: 'deleting', actor: 'operator', lock: 'record', when: 'nodepool delete' },
  { from: 'ready', to: 'deleting', actor: 'launcher', lock: 'record', when: 'too old, or its quota is needed' },
  {
    from: 'testing',
    to: 'deleting',
    actor: 'launcher',
    lock: 'record',
    when: 'a stopped node is too old or in the way',
  },
  { from: 'ready', to: 'deleting', actor: 'static', lock: 'record', when: 'no longer in the configuration' },
  { from: 'hold', to: 'deleting', actor: 'launcher', lock: 'record', when: 'held for too long' },
  { from: 'init', to: 'deleting', actor: 'launcher', lock: 'record', when: 'left over by a lost request' },
  { from: 'used', to: 'deleting', actor: 'launcher', lock: 'record', when: 'returned' },
  { from: 'in-use', to: 'deleting', actor: 'launcher', lock: 'record', when: 'its user vanished' },
  { from: 'building', to: 'deleting', actor: 'launcher', lock: 'record', when: 'its launcher vanished' },
  { from: 'failed', to: 'deleting', actor: 'launcher', lock: 'record', when: 'the launch failed' },
  { from: 'aborted', to: 'deleting', actor: 'launcher', lock: 'record', when: 'the launch was aborted' },
  { from: 'deleting', to: 'deleting', actor: 'launcher', lock: 'record', when: 'deletion is resumed' },
  { from: 'deleted', to: 'deleting', actor: 'launcher', lock: 'record', when: 'removal is resumed' },
  { from: 'deleting', to: 'deleted', actor: 'launcher', lock: 'record', when: 'the resource is gone' },
  { from: 'deleted', to: undefined, actor: 'launcher', lock: 'record', when: 'lock and record are removed' },
];

/** All state changes of requests in the data model. Our writes are checked against this table. */
export const REQUEST_TRANSITIONS: readonly RequestTransition[] = [
  { from: undefined, to: 'requested', actor: 'requestor', lock: 'none', when: 'submitted' },
  { from: 'requested', to: 'requested', actor: 'requestor', lock: 'record', when: 'priority revised' },
  { from: 'requested', to: 'pending', actor: 'launcher', lock: 'record', when: 'accepted' },
  { from: 'pending', to: 'pending', actor: 'launcher', lock: 'record', when: 'taken over with its nodes' },
  { from: 'pending', to: 'fulfilled', actor: 'launcher', lock: 'record', when: 'all nodes are ready' },
  { from: 'requested', to: 'requested', actor: 'launcher', lock: 'record', when: 'declined, other pools remain' },
  { from: 'pending', to: 'requested', actor: 'launcher', lock: 'record', when: 'declined, or its launcher vanished' },
  { from: 'fulfilled', to: 'requested', actor: 'launcher', lock: 'record', when: 'a lease lost a node of it' },
  { from: 'requested', to: 'failed', actor: 'launcher', lock: 'record', when: 'declined by every pool' },
  { from: 'pending', to: 'failed', actor: 'launcher', lock: 'record', when: 'declined by every pool' },
  { from: 'any', to: undefined, actor: 'requestor', lock: 'none', when: 'taken, cancelled or given up' },
];

const index = (transitions: readonly Transition<string, string>[]): ReadonlySet<string> =>
  new Set(transitions.map(({ from, to, actor }) => `${from ?? ''}>${to ?? ''}>${actor}`));

const NODE_INDEX = index(NODE_TRANSITIONS);
const REQUEST_INDEX = index(REQUEST_TRANSITIONS);

function allowed(known: ReadonlySet<string>, from: string | undefined, to: string, actor: string): boolean {
  return known.has(`${from ?? ''}>${to}>${actor}`) || (from !== undefined && known.has(`any>${to}>${actor}`));
}

/** Checks a state change of a node. `from` is `undefined` for a new node. @throws {TransitionError} */
export function assertNodeTransition(from: string | undefined, to: string, actor: NodeActor): void {
  if (!allowed(NODE_INDEX, from, to, actor)) throw new TransitionError('node', from, to, actor);
}

/** Checks a state change of a request. `from` is `undefined` for a new request. @throws {TransitionError} */
export function assertRequestTransition(from: string | undefined, to: string, actor: RequestActor): void {
  if (!allowed(REQUEST_INDEX, from, to, actor)) throw new TransitionError('request', from, to, actor);
}

/**
 * Whether a node is ready and not allocated to a request. Callers must check its lock, which is not part of the record.
 */
export function isFree({ state, allocatedTo }: Pick<NodeRecord, 'state' | 'allocatedTo'>): boolean {
  return state === 'ready' && allocatedTo === null;
}

/**
 * Whether the node stands by without being ready, e.g. as its instance is stopped: see {@link isStartable}. Nodes that another program
 * made `testing` do not.
 */
export function isParked({
  state,
  allocatedTo,
  launchState,
}: Pick<NodeRecord, 'state' | 'allocatedTo' | 'launchState'>): boolean {
  return state === 'testing' && allocatedTo === null && launchState !== null;
}

/** Whether a parked node may be started for a request. */
export function isStartable(node: Pick<NodeRecord, 'state' | 'allocatedTo' | 'launchState'>): boolean {
  return isParked(node) && node.launchState?.['start'] === true;
}

/** Whether the node stands by: it is free, or parked. Callers must check its lock. */
export function isIdle(node: Pick<NodeRecord, 'state' | 'allocatedTo' | 'launchState'>): boolean {
  return isFree(node) || isParked(node);
}
