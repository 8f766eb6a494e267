import type { MachineState, Step, Wait } from '../../contract/state-machine.js';

/** Continue in another state, at once. */
export function goto<State extends MachineState>(state: State): Step<State, never> {
  return { step: 'goto', state };
}

/**
 * Call the same handler again later.
 * @param when - milliseconds, or what to wait for. Default: news of the instance, else a growing pause
 */
export function wait(when: number | Wait = {}): Step<never, never> {
  return typeof when === 'number' ? { step: 'wait', ms: when } : { step: 'wait', ...when };
}

/** The machine has reached its goal. */
export function done(): Step<never, void>;
export function done<Result>(result: Result): Step<never, Result>;
export function done(result?: unknown): Step<never, unknown> {
  return { step: 'done', result };
}

/** The machine cannot reach its goal. The class of the error decides what the caller does next. */
export function failed(error: Error): Step<never, never> {
  return { step: 'failed', error };
}
