import {
  createStateMachine,
  done,
  failed,
  goto,
  LaunchError,
  NotFoundError,
  wait,
  type Handlers,
  type MachineRun,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import type { OpenStackClient } from './client/client.js';
import { isOpenStackError } from './client/errors.js';
import type { CreateState } from './create-node.js';
import type { OpenStackInstance } from './instance.js';

/** State of a stop. */
export type StopState =
  | { readonly name: 'start'; readonly externalId: string }
  | { readonly name: 'waiting-until-stopped'; readonly externalId: string };

type StopStep = Step<StopState, CreateState>;
type Run = MachineRun<OpenStackInstance>;

/** Time after which an accepted stop without effect fails. It is not repeated: both may take effect, one of them late. */
const TAKEN_UP_WITHIN_MS = 30_000;

/** Stops one server; the result is the state of its creation that starts it again. */
export function stopMachine(externalId: string, client: OpenStackClient): StateMachine<CreateState, OpenStackInstance> {
  return createStateMachine<StopState, CreateState, OpenStackClient, OpenStackInstance>({
    name: 'stop',
    initial: { name: 'start', externalId },
    handlers: stopHandlers,
    context: client,
  });
}

/** Handler of each state. */
export const stopHandlers = {
  start: submitStop,
  'waiting-until-stopped': waitUntilStopped,
} satisfies Handlers<StopState, CreateState, OpenStackClient, OpenStackInstance>;

async function submitStop({ externalId }: StopState, client: OpenStackClient, run: Run): Promise<StopStep> {
  try {
    await client.compute.stopServer(externalId, run.signal);
  } catch (error) {
    if (isOpenStackError(error, 'not-found')) return failed(gone(externalId));
    if (!isOpenStackError(error, 'conflict')) throw error; // refused: it is stopped, or is being stopped
  }
  return goto({ name: 'waiting-until-stopped', externalId });
}

async function waitUntilStopped({ externalId }: StopState, _client: OpenStackClient, run: Run): Promise<StopStep> {
  const instance = await run.instances.find(externalId);
  if (!instance || instance.deleted) return failed(gone(externalId));
  const { status, taskState, fault } = instance.server;
  if (status === 'ERROR') {
    return failed(
      new LaunchError('status', `server ${externalId} is in status ERROR: ${fault ?? 'no reason is given'}`),
    );
  }
  if (status === 'SHUTOFF' && taskState === undefined) {
    return done({ name: 'starting', externalId });
  }
  if (taskState !== undefined || run.nowMs - run.enteredMs <= TAKEN_UP_WITHIN_MS) return wait();
  return failed(
    new LaunchError('status', `the cloud has accepted the stop of server ${externalId}, and does not stop it`),
  );
}

function gone(externalId: string): Error {
  return new NotFoundError(`server ${externalId} does not exist`);
}
