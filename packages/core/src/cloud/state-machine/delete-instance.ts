import { isNodepoolError, type NodeRecord, steadyNow } from '@nodepool/zk-protocol';
import { TimeoutError } from '../../contract/errors.js';
import type { Logger } from '../../contract/logger.js';
import { runMachine } from '../operations/run-machine.js';
import type { LaunchServices } from './launch-work.js';

/** Time limit of one run; the caller starts another one later. */
const DELETE_TIMEOUT_MS = 600_000;
const MAX_REPEATS = 3;

/**
 * Deletes the instance of a node. Idempotent: a missing instance counts as deleted. Resolves when the cloud no longer has it.
 * @throws {TimeoutError} it is still there after ten minutes
 */
export async function deleteInstance(
  services: LaunchServices,
  externalId: string,
  node: NodeRecord,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { adapter, clock, instances, metrics, random, config } = services;
  const startedMs = steadyNow(clock);
  try {
    await runMachine(adapter.getDeleteStateMachine({ externalId, node, logger }), {
      clock,
      instances,
      logger,
      random,
      signal,
      timeoutMs: DELETE_TIMEOUT_MS,
      maxRepeats: MAX_REPEATS,
      timeoutError: (state) =>
        new TimeoutError(
          `instance ${externalId} of provider "${config.name}" is still there ${DELETE_TIMEOUT_MS / 1000} s after ` +
            `its deletion began (${state}): see what holds it in the cloud`,
          { timeoutMs: DELETE_TIMEOUT_MS, operation: 'delete' },
        ),
      onTransition: (transition) => metrics?.transition?.(config.name, transition),
    });
  } catch (error) {
    if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
  }
  metrics?.deleteEnded?.(steadyNow(clock) - startedMs, { provider: config.name });
}
