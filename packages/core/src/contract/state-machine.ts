import type { Logger } from './logger.js';
import type { Instance, InstanceView } from './instance.js';

/**
 * A state of a machine: its name and what is known in it. As soon as a state carries `externalId`, the id is stored with
 * the node before anything else happens. A creation that fails in a state without it, after one with it, has made nothing of
 * that id: the id is removed from the node, and nothing is deleted.
 */
export interface MachineState {
  readonly name: string;
  readonly externalId?: string | undefined;
}

/** What a handler wants to happen next. Make one with `goto`, `wait`, `done`, `failed`. */
export type Step<State extends MachineState, Result> =
  | { readonly step: 'goto'; readonly state: State }
  | ({ readonly step: 'wait' } & Wait)
  | { readonly step: 'done'; readonly result: Result }
  | { readonly step: 'failed'; readonly error: Error };

/**
 * When to call the same handler again: at whichever comes first. With neither, the runner decides: at news of the
 * instance the state names, or else after a pause that grows while the state lasts.
 */
export interface Wait {
  readonly ms?: number | undefined;
  /** Resolves when a look is worth while, e.g. when a watch fired. Must heed the signal. */
  readonly until?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** What the runner tells a handler. */
export interface MachineRun<I extends Instance = Instance> {
  /** Ends when the machine is to stop: deadline, lost lock, end of the process. Hand it to every call. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly instances: InstanceView<I>;
  /** The present time. */
  readonly nowMs: number;
  /** When the machine was started. */
  readonly startedMs: number;
  /** When it entered its present state. */
  readonly enteredMs: number;
  /** How often the present state's handler has been called before in a row. */
  readonly visits: number;
}

/**
 * One handler. It makes one observation or one call and returns a step; it never sleeps or loops. It may be called
 * again in the same state. What it throws ends the machine, except `ProviderUnavailableError` in a state with an
 * external id: then the runner backs off and calls it again.
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

/** A procedure in steps, run by core. Usually made from a table of handlers by `createStateMachine`. */
export interface StateMachine<Result, I extends Instance = Instance> {
  /** For logs and metrics, e.g. `create`. */
  readonly name: string;
  /** Where it is now. */
  readonly state: MachineState;
  /** True once a step was `done` or `failed`. */
  readonly complete: boolean;
  /** Calls the present state's handler and moves on to the state it names. */
  advance(run: MachineRun<I>): Promise<Step<MachineState, Result>>;
}

/** Reported for every change of a machine's state. */
export interface Transition {
  readonly machine: string;
  readonly from: string;
  /** `done` and `failed` at the end. */
  readonly to: string;
  /** How long the machine was in `from`. */
  readonly elapsedMs: number;
}
