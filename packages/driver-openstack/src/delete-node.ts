import {
  createStateMachine,
  done,
  goto,
  NODE_ID_TAG,
  PROVIDER_TAG,
  wait,
  type Handlers,
  type MachineRun,
  type NodeRecord,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import { backoffMs } from '@nodepool/zk-protocol';
import type { OpenStackClient } from './client/client.js';
import { isOpenStackError } from './client/errors.js';
import type { FloatingIps } from './floating-ips.js';
import { isGoing, type OpenStackInstance } from './instance.js';

/** State of a deletion. */
export type DeleteState =
  | { readonly name: 'start'; readonly externalId: string }
  | { readonly name: 'releasing-floating-ips'; readonly externalId: string }
  | { readonly name: 'submitting'; readonly externalId: string; readonly refusals: number }
  | { readonly name: 'waiting-until-gone'; readonly externalId: string; readonly refusals: number };

/** Context of a deletion. */
export interface DeleteContext {
  readonly client: OpenStackClient;
  readonly floatingIps: FloatingIps;
  /** Whether servers of this provider may have floating IPs. */
  readonly mayHaveFloatingIps: boolean;
  readonly provider: string;
  readonly databaseId: string | undefined;
  /** `undefined`: the record is deleted. */
  readonly node: NodeRecord | undefined;
}

type DeleteStep = Step<DeleteState, void>;
type Run = MachineRun<OpenStackInstance>;

/** Time after which an accepted deletion without effect is repeated. */
const TAKEN_UP_WITHIN_MS = 30_000;
const REFUSAL = { firstMs: 1_000, longestMs: 60_000 };

/** Deletes one server and its floating IPs; done when the cloud does not know it any more. */
export function deleteMachine(externalId: string, context: DeleteContext): StateMachine<void, OpenStackInstance> {
  return createStateMachine<DeleteState, void, DeleteContext, OpenStackInstance>({
    name: 'delete',
    initial: { name: 'start', externalId },
    handlers: deleteHandlers,
    context,
  });
}

/** Handler of each state. */
export const deleteHandlers = {
  start: ({ externalId }, { mayHaveFloatingIps }) =>
    goto(
      mayHaveFloatingIps
        ? { name: 'releasing-floating-ips', externalId }
        : { name: 'submitting', externalId, refusals: 0 },
    ),
  'releasing-floating-ips': async ({ externalId }, { floatingIps, provider, databaseId, node }, run) => {
    const owner = { provider, databaseId, node, serverId: externalId };
    const { ours, unmarked } = await floatingIps.toRelease(owner, run.signal);
    for (const ip of ours) await floatingIps.remove(ip, run.signal);
    const tags = unmarked.length === 0 ? undefined : (await run.instances.find(externalId))?.metadata;
    const isOurs = tags?.[PROVIDER_TAG] === provider && (!node || tags[NODE_ID_TAG] === node.id);
    if (isOurs) for (const ip of unmarked) await floatingIps.remove(ip, run.signal);
    return goto({ name: 'submitting', externalId, refusals: 0 });
  },
  submitting: submitDeletion,
  'waiting-until-gone': waitUntilGone,
} satisfies Handlers<DeleteState, void, DeleteContext, OpenStackInstance>;

async function submitDeletion(
  { externalId, refusals }: Extract<DeleteState, { name: 'submitting' }>,
  { client }: DeleteContext,
  run: Run,
): Promise<DeleteStep> {
  try {
    await client.compute.deleteServer(externalId, run.signal);
  } catch (error) {
    if (isOpenStackError(error, 'not-found')) return done();
    // An unanswered deletion may be running: watch it, do not repeat it.
    if (!isOpenStackError(error, 'unavailable') || error.status !== undefined) throw error;
    run.logger.warn('Server deletion was not answered; waiting for its effect', { externalId, error });
  }
  return goto({ name: 'waiting-until-gone', externalId, refusals });
}

async function waitUntilGone(
  { externalId, refusals }: Extract<DeleteState, { name: 'waiting-until-gone' }>,
  _context: DeleteContext,
  run: Run,
): Promise<DeleteStep> {
  const instance = await run.instances.find(externalId);
  if (!instance || instance.deleted) return done();
  const { status, fault } = instance.server;
  const isBeingDeleted = isGoing(instance.server);
  const hasFailed = status === 'ERROR' && !isBeingDeleted && run.visits > 0;
  const isForgotten = !isBeingDeleted && run.nowMs - run.enteredMs > TAKEN_UP_WITHIN_MS;
  if (!hasFailed && !isForgotten) return wait();
  if (run.nowMs - run.enteredMs < backoffMs(refusals, REFUSAL)) return wait(REFUSAL.firstMs);
  run.logger.warn('Server still exists after its deletion; deleting it again', {
    externalId,
    status,
    fault,
    refusals,
  });
  return goto({ name: 'submitting', externalId, refusals: refusals + 1 });
}
