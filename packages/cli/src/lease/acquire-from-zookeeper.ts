import {
  orAbort,
  type ConnectionState,
  type RequestId,
  type RequestRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { labelsToText, unfinishedAfter } from '@nodepool/core/service';
import type { CliContext } from '../command/context.js';
import { inform } from '../command/context.js';
import { requestorName, whoAmI } from '../connection/who-am-i.js';
import { loadIfPresent } from '../connection/connection.js';
import type { AcquireOptions } from './acquire-options.js';
import { checkLabels } from './check-labels.js';
import { guardLaunchers } from './guard-launchers.js';
import { limitWait } from './limit-wait.js';
import { RequestProgress } from './progress.js';
import { deleteRequest, submitRequest, waitForRequest } from './request.js';
import { guardSession } from './session-guard.js';
import { sayWaitingReasons } from './waiting-reasons.js';
import { ZooKeeperLease } from './zookeeper-lease.js';

/** Time limit for deleting the request on the way out; it is ephemeral and ends with the session anyway. */
const CANCEL_MS = 1_000;

function sayConnection(state: ConnectionState, progress: RequestProgress): void {
  if (state === 'SUSPENDED') progress.say('lost connection to ZooKeeper; reconnecting');
  if (state === 'CONNECTED') progress.say('reconnected to ZooKeeper');
}

/**
 * Requests nodes and takes them. Cleans up and ends early when the signal aborts or the session is lost.
 * @throws CliError when the request failed, took too long, or the session is lost; the signal's reason
 */
export async function acquireNodes(
  context: CliContext,
  zk: ZooKeeper,
  options: AcquireOptions,
  signal: AbortSignal,
): Promise<ZooKeeperLease> {
  signal.throwIfAborted();
  const { labels, provider, priority } = options;
  if (!options.force) await orAbort(checkLabels(context, { ...context, zk }, labels), signal);
  const session = guardSession(zk);
  const alive = AbortSignal.any([signal, session.lost]);
  try {
    const spec = { labels, provider, priority, requestor: requestorName() };
    const id = await orAbort(submitRequest(zk, context.clock, spec), alive);
    return await waitAndTake(context, zk, id, options, alive);
  } finally {
    session.end();
  }
}

async function waitAndTake(
  context: CliContext,
  zk: ZooKeeper,
  id: RequestId,
  options: AcquireOptions,
  alive: AbortSignal,
): Promise<ZooKeeperLease> {
  const { clock, logger } = context;
  const progress = new RequestProgress(options.quiet ? () => {} : inform, () => clock.now());
  const what = `request ${id} for ${labelsToText(options.labels)}`;
  progress.say(what);
  const subject = what.replace('request', 'Request');
  const launchers = guardLaunchers(context, zk, subject);
  const either = options.timeoutMs === undefined ? AbortSignal.any([alive, launchers.gone]) : alive;
  const waiting = limitWait(context, options, subject, either, () => launchers.missing());
  const say = (line: string) => progress.say(line);
  const endReasons = options.quiet ? () => {} : sayWaitingReasons({ context, zk, requestId: id, say });
  const endNews = zk.onState((state) => sayConnection(state, progress));
  try {
    const onChange = (request: RequestRecord) => progress.update(request);
    const fulfilled = await waitForRequest(id, { zk, clock, signal: waiting.signal, onChange });
    waiting.end();
    launchers.end();
    const userData = { nodepool_cli: whoAmI(), purpose: options.purpose };
    const maxHoldAgeMs = (await loadIfPresent(context))?.maxHoldAgeMs ?? 0;
    const lease = await ZooKeeperLease.take({ zk, clock, owner: whoAmI(), userData, maxHoldAgeMs }, fulfilled, alive);
    progress.say('nodes locked and in use');
    return lease;
  } catch (error) {
    await unfinishedAfter(CANCEL_MS, clock, new Map([['request', deleteRequest(zk, id)]])).catch((cause: unknown) =>
      logger.debug('Failed to delete the request; it ends with the session', { error: cause }),
    );
    throw error;
  } finally {
    waiting.end();
    launchers.end();
    endReasons();
    endNews();
  }
}
