import { statsdKeyOf, TimeoutError } from '@nodepool/core';
import type { LaunchOrder, LaunchResult, Logger, OperationMetrics } from '@nodepool/core';
import { isNodepoolError, steadyNow } from '@nodepool/zk-protocol';
import type { Clock, NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import type { Allocator } from './allocator.js';
import { chainOf } from './chain.js';
import type { MetastaticLabelConfig, MetastaticProviderConfig } from './config.js';
import type { SlotClaim } from './slot-claim.js';

/** Context of the launches of a provider. */
export interface LaunchServices {
  readonly config: MetastaticProviderConfig;
  readonly allocator: Pick<Allocator, 'add' | 'remove'>;
  readonly zk: Pick<ZooKeeper, 'sessionEpoch'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: OperationMetrics | undefined;
}

/** Assigns a slot to one node, with retries. Reports each attempt with the time since the first. Never rejects. */
export async function launchSlot(
  services: LaunchServices,
  order: LaunchOrder,
  label: MetastaticLabelConfig,
  stop: AbortSignal,
): Promise<LaunchResult> {
  const { config, clock, logger, metrics } = services;
  const { node, unwanted } = order;
  const signal = unwanted ? AbortSignal.any([stop, unwanted]) : stop;
  const startedMs = steadyNow(clock);
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptSlot(services, order, label, signal);
    if (signal.aborted && outcome instanceof Error) return { state: 'failed', node, error: outcome };
    const error = outcome instanceof Error ? outcome : undefined;
    const { az } = outcome instanceof Error ? node : outcome;
    const subject = { provider: config.name, az, requestor: node.requestor, image: null };
    metrics?.launchEnded?.(error ? statsdKeyOf(error) : 'ready', steadyNow(clock) - startedMs, subject);
    if (!(outcome instanceof Error)) {
      const { externalId, slot, pool } = outcome;
      logger.info('Node is ready', {
        nodeId: node.id,
        pool,
        attempt,
        externalId,
        slot,
        ms: steadyNow(clock) - startedMs,
      });
      return { state: 'ready', node: outcome };
    }
    if (isNodepoolError(outcome, 'NODEPOOL_LOCK_LOST')) return { state: 'failed', node, error: outcome };
    if (isNodepoolError(outcome, 'NODEPOOL_CAPACITY')) return { state: 'aborted', node, error: outcome };
    logger.warn('Launch attempt failed', { nodeId: node.id, attempt, of: config.launchRetries, error: outcome });
    if (attempt >= config.launchRetries) return { state: 'failed', node, error: outcome };
  }
}

/** Waits for a slot until the launch timeout. Resolves with the ready node, or the error. */
function attemptSlot(
  { allocator, clock, config, zk }: LaunchServices,
  order: LaunchOrder,
  label: MetastaticLabelConfig,
  signal: AbortSignal,
): Promise<NodeRecord | Error> {
  return new Promise((resolve) => {
    const finish = (outcome: NodeRecord | Error) => {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
      allocator.remove(claim);
      resolve(outcome);
    };
    const claim: SlotClaim = {
      node: order.node,
      label: label.name,
      pool: order.pool,
      request: order.request.id,
      chain: chainOf(order.request),
      scansKeys: label.hostKeyChecking,
      epoch: zk.sessionEpoch,
      hostKeys: undefined,
      isOver: false,
      done: finish,
      failed: finish,
    };
    const onAbort = () => finish(signal.reason instanceof Error ? signal.reason : new Error('the launch was aborted'));
    const cancelTimer = clock.setTimer(config.launchTimeoutMs, () => finish(launchTimeout(config, label)));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    else allocator.add(claim);
  });
}

function launchTimeout(config: MetastaticProviderConfig, label: MetastaticLabelConfig): TimeoutError {
  const timeoutMs = config.launchTimeoutMs;
  return new TimeoutError(
    `no slot of label "${label.name}" was free within ${timeoutMs / 1000} s: check the requests for ` +
      `its backing label "${label.backingLabel}", or raise launch-timeout`,
    { timeoutMs, operation: 'create' },
  );
}
