import { COMPONENTS_ROOT } from '@nodepool/zk-protocol';
import type { RequestId, ZooKeeper } from '@nodepool/zk-protocol';
import { labelsToText } from '@nodepool/core/listing';
import type { CliContext } from '../context.js';
import { tell } from '../context.js';
import { CliError } from '../errors.js';
import { ifPresent } from '../fetch-records.js';
import { requestorName, whoAmI } from '../who-am-i.js';
import { Lease } from './lease.js';
import { RequestProgress } from './progress.js';
import { deleteRequest, submitRequest, waitForRequest } from './request.js';

/** After this long without an answer, a missing launcher is worth a word. */
const HINT_AFTER_MS = 3000;

/** What to acquire, and how. */
export interface AcquireOptions {
  readonly labels: readonly string[];
  readonly provider: string | undefined;
  readonly priority: number;
  /** Give up after this long; `undefined` waits for ever. */
  readonly timeoutMs: number | undefined;
  /** Say nothing while waiting. */
  readonly quiet: boolean;
  /** Stored with the nodes: what they are used for. */
  readonly purpose: string;
}

async function hintWhenNobodyServes(zk: ZooKeeper, progress: RequestProgress): Promise<void> {
  const pools = (await ifPresent(zk.getChildren(`${COMPONENTS_ROOT}/pool`))) ?? [];
  if (pools.length === 0) progress.say('no launcher is running; the request waits until one starts');
}

interface Waiting {
  readonly signal: AbortSignal;
  end(): void;
}

/** Joins the caller's signal with the time limit. */
function limitWait(context: CliContext, options: AcquireOptions, id: RequestId, signal: AbortSignal): Waiting {
  const { timeoutMs } = options;
  if (timeoutMs === undefined) return { signal, end: () => {} };
  const limit = new AbortController();
  const text = `Request ${id} for ${labelsToText(options.labels)} was not fulfilled within ${timeoutMs / 1000} s; gave up`;
  const end = context.clock.setTimer(timeoutMs, () => limit.abort(new CliError(text)));
  return { signal: AbortSignal.any([signal, limit.signal]), end };
}

/**
 * Asks for nodes and takes them. Ends early, leaving nothing behind, when the signal aborts.
 * @throws CliError when the request failed or took too long
 */
export async function acquireNodes(
  context: CliContext,
  zk: ZooKeeper,
  options: AcquireOptions,
  signal: AbortSignal,
): Promise<Lease> {
  const { clock } = context;
  const progress = new RequestProgress(options.quiet ? () => {} : tell, () => clock.now());
  const { labels, provider, priority } = options;
  const id = await submitRequest(zk, clock, { labels, provider, priority, requestor: requestorName() });
  progress.say(`request ${id} for ${labelsToText(labels)}`);
  const waiting = limitWait(context, options, id, signal);
  const cancelHint = clock.setTimer(HINT_AFTER_MS, () => {
    hintWhenNobodyServes(zk, progress).catch((error: unknown) => context.logger.debug('No hint', { error }));
  });
  try {
    const fulfilled = await waitForRequest(id, {
      zk,
      clock,
      signal: waiting.signal,
      onChange: (request) => progress.update(request),
    });
    waiting.end();
    const userData = { nodepool_cli: whoAmI(), purpose: options.purpose };
    const lease = await Lease.take({ zk, clock, owner: whoAmI(), userData }, fulfilled);
    progress.say('nodes locked and in use');
    return lease;
  } catch (error) {
    await deleteRequest(zk, id).catch((cause: unknown) =>
      context.logger.debug('Request goes with the session', { error: cause }),
    );
    throw error;
  } finally {
    waiting.end();
    cancelHint();
  }
}
