import {
  createStateMachine,
  done,
  goto,
  NODE_ID_TAG,
  PROVIDER_TAG,
  wait,
  type Handlers,
  type MachineRun,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import { backoffMs } from '@nodepool/zk-protocol';
import type { OpenStackClient } from './client/client.js';
import { isOpenStackError } from './client/errors.js';
import type { FloatingIps } from './floating-ips.js';
import type { OpenStackInstance } from './instance.js';

/** Where a deletion stands. */
export type DeleteState =
  | { readonly name: 'start'; readonly externalId: string }
  | { readonly name: 'releasing-floating-ips'; readonly externalId: string }
  | { readonly name: 'submitting'; readonly externalId: string; readonly refusals: number }
  | { readonly name: 'waiting-until-gone'; readonly externalId: string; readonly refusals: number };

/** What a deletion works with. */
export interface DeleteContext {
  readonly client: OpenStackClient;
  readonly floatingIps: FloatingIps;
  /** Servers of this provider may have floating IPs of ours. */
  readonly mayHaveFloatingIps: boolean;
  readonly provider: string;
  readonly databaseId: string | undefined;
  /** `undefined`: its record is gone. */
  readonly nodeId: string | undefined;
}

type DeleteStep = Step<DeleteState, void>;
type Run = MachineRun<OpenStackInstance>;

/** A deletion that the cloud took and does nothing about is asked for again after this time. */
const TAKEN_UP_WITHIN_MS = 30_000;
const REFUSAL = { firstMs: 1_000, longestMs: 60_000 };

/** Deletes one server, and the floating IPs that were made for it. Ends when the cloud no longer shows it. */
export function deleteMachine(externalId: string, context: DeleteContext): StateMachine<void, OpenStackInstance> {
  return createStateMachine<DeleteState, void, DeleteContext, OpenStackInstance>({
    name: 'delete',
    initial: { name: 'start', externalId },
    handlers: deleteHandlers,
    context,
  });
}

/** A handler for each state. */
export const deleteHandlers = {
  start: ({ externalId }, { mayHaveFloatingIps }) =>
    goto(
      mayHaveFloatingIps
        ? { name: 'releasing-floating-ips', externalId }
        : { name: 'submitting', externalId, refusals: 0 },
    ),
  'releasing-floating-ips': async ({ externalId }, { floatingIps, provider, databaseId, nodeId }, run) => {
    const owner = { provider, databaseId, nodeId, serverId: externalId };
    const { ours, unmarked } = await floatingIps.toRelease(owner, run.signal);
    for (const ip of ours) await floatingIps.remove(ip, run.signal);
    const tags = unmarked.length === 0 ? undefined : (await run.instances.find(externalId))?.metadata;
    const isOurs = tags?.[PROVIDER_TAG] === provider && (nodeId === undefined || tags[NODE_ID_TAG] === nodeId);
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
    if (isOpenStackError(error, 'conflict')) return refuse(externalId, refusals, client, run, error);
    // without an answer it may be under way: it is watched, not asked for again
    if (!isOpenStackError(error, 'unavailable') || error.status !== undefined) throw error;
    run.logger.warn('A deletion was not answered; watching whether it happens', { externalId, error });
  }
  return goto({ name: 'waiting-until-gone', externalId, refusals });
}

/** The cloud does not delete it in the state it is in. */
async function refuse(
  externalId: string,
  refusals: number,
  client: OpenStackClient,
  run: Run,
  error: unknown,
): Promise<DeleteStep> {
  const server = await client.compute.server(externalId, run.signal);
  if (!server) return done();
  const { status, taskState } = server;
  const pauseMs = backoffMs(run.visits, REFUSAL);
  const fields = { externalId, status, taskState, volumes: server.volumeIds, refusals, pauseMs, error };
  run.logger.warn('The cloud refuses to delete a server; trying again', fields);
  return wait(pauseMs);
}

async function waitUntilGone(
  { externalId, refusals }: Extract<DeleteState, { name: 'waiting-until-gone' }>,
  _context: DeleteContext,
  run: Run,
): Promise<DeleteStep> {
  const instance = await run.instances.find(externalId);
  if (!instance || instance.deleted) return done();
  const { status, taskState, fault } = instance.server;
  const isBeingDeleted = taskState !== undefined && /delet/i.test(taskState);
  const hasFailed = status === 'ERROR' && !isBeingDeleted && run.visits > 0;
  const isForgotten = !isBeingDeleted && run.nowMs - run.enteredMs > TAKEN_UP_WITHIN_MS;
  if (!hasFailed && !isForgotten) return wait();
  if (run.nowMs - run.enteredMs < backoffMs(refusals, REFUSAL)) return wait(REFUSAL.firstMs);
  run.logger.warn('A server is still there after its deletion; deleting it again', {
    externalId,
    status,
    fault,
    refusals,
  });
  return goto({ name: 'submitting', externalId, refusals: refusals + 1 });
}
