import type { Logger } from './logger.js';
import type { Instance, InstanceView } from './instance.js';

/**
 * A state of a machine that a driver writes: its name and its data. `createStateMachine` makes the machine.
 *
 * When a state has an `externalId`, core stores the id with the node before the next
 * step. If a later state without the id fails, core assumes that the instance was never made: it removes the id from the node and
 * deletes nothing.
 */
export interface MachineState {
  readonly name: string;
  readonly externalId?: string | undefined;
}

/** The result of a handler. Make one with `goto`, `wait`, `done`, `failed`. */
export type Step<State extends MachineState, Result> =
  | { readonly step: 'goto'; readonly state: State }
  | ({ readonly step: 'wait' } & Wait)
  | { readonly step: 'done'; readonly result: Result }
  | { readonly step: 'failed'; readonly error: Error };

/**
 * When to call the same handler again, whichever comes first. With neither, the runner decides: on a change of the instance that
 * the state names, or after a pause that grows with time.
 */
export interface Wait {
  readonly ms?: number | undefined;
  /** Resolves when there may be a change, for example when a watch fired. Must honor the signal. */
  readonly until?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** Input of a handler from the runner. */
export interface MachineRun<I extends Instance = Instance> {
  /** Aborted when the machine must stop: deadline, lost lock, shutdown. Pass it to every call. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly instances: InstanceView<I>;
  /** The present steady time, for comparison with the other times here: it does not jump when the clock is set. */
  readonly nowMs: number;
  /** When the machine was started. */
  readonly startedMs: number;
  /** When it entered its present state. */
  readonly enteredMs: number;
  /** Number of earlier calls of the handler in the present state. */
  readonly visits: number;
  /** Stores in the node's record an error after which the operation continues, for `explain` and lists. One line. Await it. */
  note(text: string): Promise<void>;
}

/**
 * A handler makes one observation or one call and returns a step. It never sleeps or loops, and may be called again in the same
 * state. An error ends the machine, except `ProviderUnavailableError` in a state with an external id: then the runner backs off
 * and retries.
 */
export type Handler<
  State extends MachineState,
  Result,
  Context,
  I extends Instance = Instance,
  Current extends State = State,
> = (state: Current, context: Context, run: MachineRun<I>) => Step<State, Result> | Promise<Step<State, Result>>;

/** A handler for each state. Check a table with `satisfies Handlers<...>`: a forgotten state does not compile. */
export type Handlers<State extends MachineState, Result, Context, I extends Instance = Instance> = {
  readonly [Name in State['name']]: Handler<State, Result, Context, I, Extract<State, { readonly name: Name }>>;
};

/** A state machine that core runs. Usually made from a table of handlers by `createStateMachine`. */
export interface StateMachine<Result, I extends Instance = Instance> {
  /** For logs and metrics, e.g. `create`. */
  readonly name: string;
  /** The present state. */
  readonly state: MachineState;
  /** True once a step was `done` or `failed`. */
  readonly complete: boolean;
  /** Calls the handler of the present state and enters the state that it returns. */
  advance(run: MachineRun<I>): Promise<Step<MachineState, Result>>;
}

/** A change of state of a machine. */
export interface Transition {
  readonly machine: string;
  readonly from: string;
  /** `done` and `failed` at the end. */
  readonly to: string;
  /** Time spent in `from`. */
  readonly elapsedMs: number;
}
