import type { Clock, NodeRecord } from '@nodepool/zk-protocol';
import { DriverError, TimeoutError } from '../../../contract/errors.js';
import type { LaunchOrder, LaunchResult, NodeRequestHandler, ProviderContext } from '../../../contract/driver.js';
import { newerOf } from '../../state/store-node.js';
import { outOfDriverScope, type DriverScope } from './driver-scope.js';
import { withTimeLimit } from '../../../async/time-limit.js';

/** A limit for launches that hang; drivers have shorter time limits of their own. */
const LAUNCH_LIMIT_MS = 24 * 3_600_000;
/** How long an aborted launch may take to end. */
const ABORT_PATIENCE_MS = 60_000;
const LAUNCH_STATES: ReadonlySet<unknown> = new Set(['ready', 'failed', 'aborted']);

/** Options of a guarded handler. */
export interface HandlerGuardOptions {
  readonly scope: DriverScope;
  readonly clock: Clock;
  /** Nodes as ZooKeeper has them: a driver may store one in a transaction of its own. */
  readonly nodes: Pick<ProviderContext['nodes'], 'get'>;
}

const isBoolean = (answer: unknown) => typeof answer === 'boolean';

/** A driver's handler that never throws, never hangs indefinitely, and always answers as the contract says. */
export function guardHandler(handler: NodeRequestHandler, options: HandlerGuardOptions): NodeRequestHandler {
  const { scope } = options;
  return {
    imagesAvailable: () => scope.ask('imagesAvailable', false, () => handler.imagesAvailable(), isBoolean),
    launch:
      typeof handler.launch === 'function' ? (order, signal) => launch(handler, order, signal, options) : undefined,
    checkReusableNode: handler.checkReusableNode && ((node, signal) => checkNode(handler, node, signal, scope)),
    acceptsNode: (node) => scope.ask('acceptsNode', false, () => handler.acceptsNode?.(node) ?? true, isBoolean),
    setNodeMetadata: (node) =>
      scope.ask('setNodeMetadata', node, () => handler.setNodeMetadata?.(node) ?? node, isRecord),
    nodeReusedNotification: (node) =>
      scope.ask('nodeReusedNotification', undefined, () => handler.nodeReusedNotification?.(node)),
    nodeRejectedNotification: (node) =>
      scope.ask('nodeRejectedNotification', undefined, () => handler.nodeRejectedNotification?.(node)),
  };
}

/** A handler whose launches fail with the error, for a driver that returned no handler. */
export function failingHandler(error: Error): NodeRequestHandler {
  return {
    imagesAvailable: () => true, // so that a launch is tried, and its error is stored
    launch: ({ node }) => Promise.resolve({ state: 'failed', node, error }),
    checkReusableNode: () => true,
  };
}

async function launch(
  handler: NodeRequestHandler,
  order: LaunchOrder,
  signal: AbortSignal,
  { scope, clock, nodes }: HandlerGuardOptions,
): Promise<LaunchResult> {
  let { node } = order;
  const store: LaunchOrder['store'] = async (changes) => (node = await outOfDriverScope(() => order.store(changes)));
  const { attemptFailed, created, stageBegan } = order;
  const guarded = {
    ...order,
    store,
    ...(attemptFailed && { attemptFailed: (error: Error) => outOfDriverScope(() => attemptFailed(error)) }),
    ...(created && { created: () => outOfDriverScope(created) }),
    ...(stageBegan && { stageBegan: (stage: string) => outOfDriverScope(() => stageBegan(stage)) }),
  };
  try {
    const started = scope.run(async () => handler.launch?.(guarded, signal));
    const limited = withTimeLimit(clock, LAUNCH_LIMIT_MS, `launch of node ${node.id}`, started);
    const result = await untilAborted(limited, signal, clock);
    // a node stored as ready may already have been handed over and changed by its user
    const stored = node.state === 'ready' ? node : newestOf(node, nodes.get(node.id), result?.node);
    const problem = problemOf(result, stored);
    if (!problem && result) return result;
    const { driver } = scope;
    throw new DriverError(driver, `driver "${driver}" launched node ${node.id} and returned ${problem}`);
  } catch (error) {
    if (!signal.aborted) scope.logViolation('launch', error);
    return { state: 'failed', node, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

/** Waits for a launch; after an abort no longer than {@link ABORT_PATIENCE_MS}. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal, clock: Clock): Promise<T> {
  let cancel = (): void => {};
  const late = new Promise<never>((_resolve, reject) => {
    const onAbort = () => {
      const error = new TimeoutError('the launch was aborted and did not end', { timeoutMs: ABORT_PATIENCE_MS });
      const cancelTimer = clock.setTimer(ABORT_PATIENCE_MS, () => reject(error));
      cancel = cancelTimer;
    };
    if (signal.aborted) onAbort();
    else {
      signal.addEventListener('abort', onAbort, { once: true });
      cancel = () => signal.removeEventListener('abort', onAbort);
    }
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel();
  }
}

/** The newest known state of a node: a driver may have stored it in a transaction that the mirror does not show yet. */
function newestOf(node: NodeRecord, shown: NodeRecord | undefined, returned: NodeRecord | undefined): NodeRecord {
  const known = newerOf(node, shown);
  return returned?.id === node.id && returned.stat !== undefined ? newerOf(known, returned) : known;
}

/** Why a result violates the contract; `undefined` if it does not. @param node - as stored */
function problemOf(result: Partial<LaunchResult> | undefined, node: NodeRecord): string | undefined {
  if (result === null || typeof result !== 'object') return `${String(result)}, expected {state, node, error}`;
  if (!LAUNCH_STATES.has(result.state)) return `state ${String(result.state)}, expected ready, failed or aborted`;
  if (result.node?.id !== node.id) return 'another node';
  if (result.state === 'ready' && node.state !== 'ready') return `state ready, but stored the node as ${node.state}`;
  return undefined;
}

function checkNode(
  handler: NodeRequestHandler,
  node: NodeRecord,
  signal: AbortSignal,
  scope: DriverScope,
): boolean | Promise<boolean> {
  const refused = (error: unknown) => {
    scope.logViolation('checkReusableNode', error);
    return false;
  };
  try {
    const answer = scope.run(() => handler.checkReusableNode?.(node, signal));
    return typeof answer === 'boolean' ? answer : Promise.resolve(answer).then((usable) => usable === true, refused);
  } catch (error) {
    return refused(error);
  }
}

function isRecord(answer: unknown): boolean {
  if (answer === null || typeof answer !== 'object') return false;
  const { labels, state } = answer as Partial<NodeRecord>;
  return Array.isArray(labels) && state === 'init';
}
