import { summarizeExplanation } from '@nodepool/core/service';
import type { RequestId, ZooKeeper } from '@nodepool/zk-protocol';
import { loadIfPresent } from '../connection/connection.js';
import type { CliContext } from '../command/context.js';
import { askLaunchers, mergeAnswers } from '../explain/ask-launchers.js';
import { findLauncherUrls } from '../connection/find-launchers.js';

/** Most requests are fulfilled sooner. */
const FIRST_AFTER_MS = 3000;
const AGAIN_AFTER_MS = 1000;

/** The request that waits. */
export interface WaitingReasonsOptions {
  readonly context: CliContext;
  readonly zk: ZooKeeper;
  readonly requestId: RequestId;
  /** Called after three seconds, and again whenever the line changes. */
  readonly say: (line: string) => void;
}

/**
 * Says what a request waits for, as `nodepool explain` does, until it is ended. Never throws.
 * @returns a function that ends it
 */
export function sayWaitingReasons(options: WaitingReasonsOptions): () => void {
  const { context, say } = options;
  const { clock, logger } = context;
  let last = '';
  let isEnded = false;
  let cancel = () => {};
  const look = async (): Promise<void> => {
    try {
      const line = await findReason(options);
      if (!isEnded && line !== undefined && line !== last) say((last = line));
    } catch (error) {
      logger.debug('Failed to find out why the request waits', { error });
    }
    if (!isEnded) cancel = clock.setTimer(AGAIN_AFTER_MS, () => void look());
  };
  cancel = clock.setTimer(FIRST_AFTER_MS, () => void look());
  return () => {
    isEnded = true;
    cancel();
  };
}

/** @returns `undefined` while no launcher answers, and once the request is fulfilled or failed */
async function findReason({ context, zk, requestId }: WaitingReasonsOptions): Promise<string | undefined> {
  const config = await loadIfPresent(context);
  const urls = await findLauncherUrls({ ...context, zk }, config?.webapp);
  if (urls.length === 0) return 'no launcher is running; the request waits until one starts';
  const merged = mergeAnswers(await askLaunchers(urls, { requestId }, context.clock));
  if (merged === undefined) return undefined;
  const { explanation, conditions } = merged;
  if (explanation.state === 'fulfilled' || explanation.state === 'failed') return undefined;
  return summarizeExplanation(explanation, conditions).replace(`Request ${requestId} `, '');
}
