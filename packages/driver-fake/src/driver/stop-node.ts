import {
  createStateMachine,
  done,
  failed,
  goto,
  LaunchError,
  NotFoundError,
  wait,
  type Handlers,
  type StateMachine,
} from '@nodepool/core';
import type { PacedCall } from './cloud-call.js';
import type { CreateState } from './create-node.js';
import type { FakeInstance } from './instance.js';

/** State of a stop. */
export type StopState =
  | { readonly name: 'start'; readonly externalId: string }
  | { readonly name: 'waiting-until-stopped'; readonly externalId: string };

/** Stops one instance; the result is the state of its creation that starts it again. */
export function stopMachine(externalId: string, call: PacedCall): StateMachine<CreateState, FakeInstance> {
  return createStateMachine<StopState, CreateState, PacedCall, FakeInstance>({
    name: 'stop',
    initial: { name: 'start', externalId },
    handlers: stopHandlers,
    context: call,
  });
}

/** Handler of each state. */
export const stopHandlers = {
  start: async ({ externalId }, call, run) => {
    await call('compute.POST.servers.action', 'powerOff', externalId, run.signal);
    return goto({ name: 'waiting-until-stopped', externalId });
  },
  'waiting-until-stopped': async ({ externalId }, _call, run) => {
    const instance = await run.instances.find(externalId);
    if (!instance) return failed(new NotFoundError(`instance ${externalId} vanished while it was being stopped`));
    if (instance.status === 'stopped') return done({ name: 'starting', externalId });
    // the answer to the stop may be faster than the report of its effect
    if (instance.status === 'stopping' || instance.status === 'active') return wait();
    return failed(new LaunchError('status', `instance ${externalId} is ${instance.status} instead of stopped`));
  },
} satisfies Handlers<StopState, CreateState, PacedCall, FakeInstance>;
