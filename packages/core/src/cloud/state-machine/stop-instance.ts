import type { JsonObject, NodeRecord } from '@nodepool/zk-protocol';
import { NotFoundError, TimeoutError } from '../../contract/errors.js';
import type { Logger } from '../../contract/logger.js';
import { runMachine } from '../operations/run-machine.js';
import { encodeStopped } from './launch-progress.js';
import type { LaunchServices } from './launch-work.js';

/** An operating system that does not end within this time is of no use as a spare. */
const STOP_TIMEOUT_MS = 300_000;
/** The caller has to know of each call without an answer: it may take effect late. */
const MAX_REPEATS = 0;

/**
 * Stops the instance of a node. Idempotent.
 * @returns the progress of the launch that starts it again
 * @throws {NotFoundError} it is gone
 * @throws {TimeoutError} it still runs after five minutes
 * @throws {ProviderUnavailableError} a call was not answered: the stop may take effect later
 */
export async function stopInstance(
  services: LaunchServices,
  node: NodeRecord,
  logger: Logger,
  signal: AbortSignal,
): Promise<JsonObject> {
  const { adapter, clock, instances, metrics, random, config } = services;
  const { externalId } = node;
  if (typeof externalId !== 'string') throw new NotFoundError(`node ${node.id} has no instance`);
  const machine = adapter.getStopStateMachine?.({ externalId, node, logger });
  if (!machine) throw new Error(`driver "${config.driverName}" declares "stops" and has no getStopStateMachine`);
  const state = await runMachine(machine, {
    ...{ clock, instances, logger, random, signal },
    timeoutMs: STOP_TIMEOUT_MS,
    maxRepeats: MAX_REPEATS,
    timeoutError: (name) =>
      new TimeoutError(
        `instance ${externalId} of provider "${config.name}" did not stop within ${STOP_TIMEOUT_MS / 1000} s (${name})`,
        { timeoutMs: STOP_TIMEOUT_MS },
      ),
    onTransition: (transition) => metrics?.transition?.(config.name, transition),
  });
  if (state.externalId !== externalId)
    throw new Error(`machine "${machine.name}" ended without the id of its instance`);
  return encodeStopped(state);
}
