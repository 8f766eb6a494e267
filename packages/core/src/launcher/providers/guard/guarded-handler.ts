import type { Clock, NodeRecord } from '@nodepool/zk-protocol';
import { DriverError, TimeoutError } from '../../../contract/errors.js';
import type { LaunchOrder, LaunchResult, NodeRequestHandler, ProviderContext } from '../../../contract/driver.js';
import { newerOf } from '../../state/store-node.js';
import type { ContractViolationLog } from './contract-violation-log.js';
import { inDriverScope, outOfDriverScope } from './driver-scope.js';
import { withTimeLimit } from '../../../async/time-limit.js';

/** Longer than any launch is meant to take: drivers have limits of their own, this one is for those that hang. */
const LAUNCH_LIMIT_MS = 24 * 3_600_000;
/** How long a launch whose signal is aborted may take to notice. */
const ABORT_PATIENCE_MS = 60_000;
const LAUNCH_STATES: ReadonlySet<unknown> = new Set(['ready', 'failed', 'aborted']);

/** What a guarded handler needs to know. */
export interface HandlerGuardOptions {
  readonly driver: string;
  readonly clock: Clock;
  readonly violations: ContractViolationLog;
  /** Nodes as ZooKeeper has them: a driver may store one in a transaction of its own. */
  readonly nodes: Pick<ProviderContext['nodes'], 'get'>;
}

const isBoolean = (answer: unknown) => typeof answer === 'boolean';

/** A driver's handler that never throws, never hangs indefinitely, and always answers in the terms of the contract. */
export function guardHandler(handler: NodeRequestHandler, options: HandlerGuardOptions): NodeRequestHandler {
  const { violations } = options;
  return {
    imagesAvailable: () => violations.ask('imagesAvailable', false, () => handler.imagesAvailable(), isBoolean),
    launch:
      typeof handler.launch === 'function' ? (order, signal) => launch(handler, order, signal, options) : undefined,
    checkReusableNode: handler.checkReusableNode && ((node, signal) => checkNode(handler, node, signal, violations)),
    acceptsNode: (node) => violations.ask('acceptsNode', false, () => handler.acceptsNode?.(node) ?? true, isBoolean),
    setNodeMetadata: (node) =>
      violations.ask('setNodeMetadata', node, () => handler.setNodeMetadata?.(node) ?? node, isRecord),
    nodeReusedNotification: (node) =>
      violations.ask('nodeReusedNotification', undefined, () => handler.nodeReusedNotification?.(node)),
    nodeRejectedNotification: (node) =>
      violations.ask('nodeRejectedNotification', undefined, () => handler.nodeRejectedNotification?.(node)),
  };
}

/** What stands in for a handler that could not be had: nothing can be made, and the reason is told. */
export function failingHandler(error: Error): NodeRequestHandler {
  return {
    imagesAvailable: () => true, // so that the launch tells the reason
    launch: ({ node }) => Promise.resolve({ state: 'failed', node, error }),
    checkReusableNode: () => true,
  };
}

async function launch(
  handler: NodeRequestHandler,
  order: LaunchOrder,
  signal: AbortSignal,
  { driver, clock, violations, nodes }: HandlerGuardOptions,
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
    const started = inDriverScope(violations.scope, async () => handler.launch?.(guarded, signal));
    const limited = withTimeLimit(clock, LAUNCH_LIMIT_MS, `launch of node ${node.id}`, started);
    const result = await untilAborted(limited, signal, clock);
    // what was stored as ready may be handed over, and changed by whoever has it
    const stored = node.state === 'ready' ? node : newestOf(node, nodes.get(node.id), result?.node);
    const problem = problemOf(result, stored);
    if (!problem && result) return result;
    throw new DriverError(driver, `driver "${driver}" launched node ${node.id} and returned ${problem}`);
  } catch (error) {
    if (!signal.aborted) violations.tell('launch', error);
    return { state: 'failed', node, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

/** An aborted launch gets a moment to end by itself, and then is left to itself. */
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

/** A driver may store a node in a transaction of its own, of which the mirror may not have heard yet. */
function newestOf(node: NodeRecord, shown: NodeRecord | undefined, returned: NodeRecord | undefined): NodeRecord {
  const known = newerOf(node, shown);
  return returned?.id === node.id && returned.stat !== undefined ? newerOf(known, returned) : known;
}

/** @param node - as it is stored */
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
  violations: ContractViolationLog,
): boolean | Promise<boolean> {
  const refused = (error: unknown) => {
    violations.tell('checkReusableNode', error);
    return false;
  };
  try {
    const answer = inDriverScope(violations.scope, () => handler.checkReusableNode?.(node, signal));
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
