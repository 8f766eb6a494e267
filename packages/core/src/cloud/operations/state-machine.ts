import type { Instance } from '../../contract/instance.js';
import type {
  Handler,
  Handlers,
  MachineRun,
  MachineState,
  StateMachine,
  Step,
  Wait,
} from '../../contract/state-machine.js';

/** Options of a state machine that a driver writes. Its types are in `contract/state-machine.ts`. */
export interface StateMachineOptions<State extends MachineState, Result, Context, I extends Instance = Instance> {
  /** For logs and metrics, e.g. `create`. */
  readonly name: string;
  readonly initial: State;
  /**
   * State in which to continue the machine of a launcher that is gone. A state that the table does not have, as another version of
   * the driver stored it, is ignored.
   */
  readonly resumed?: MachineState | undefined;
  readonly handlers: Handlers<State, Result, Context, I>;
  /** Handed to every handler: the cloud's client, the order to fulfil. */
  readonly context: Context;
}

/** Makes a machine of a table of handlers. It does nothing until it is run. */
export function createStateMachine<State extends MachineState, Result, Context, I extends Instance = Instance>(
  options: StateMachineOptions<State, Result, Context, I>,
): StateMachine<Result, I> {
  return new TableMachine(options);
}

class TableMachine<State extends MachineState, Result, Context, I extends Instance> implements StateMachine<Result, I> {
  readonly name: string;
  readonly #options: StateMachineOptions<State, Result, Context, I>;
  #state: State;
  #complete = false;

  constructor(options: StateMachineOptions<State, Result, Context, I>) {
    this.name = options.name;
    this.#options = options;
    const { handlers, initial, resumed } = options;
    // A state comes back as it was stored, so its data is that of its name.
    this.#state = resumed && Object.hasOwn(handlers, resumed.name) ? (resumed as State) : initial;
  }

  get state(): State {
    return this.#state;
  }

  get complete(): boolean {
    return this.#complete;
  }

  async advance(run: MachineRun<I>): Promise<Step<State, Result>> {
    const { handlers, context } = this.#options;
    const handler = handlers[this.#state.name as State['name']] as Handler<State, Result, Context, I> | undefined;
    if (!handler) throw new Error(`machine "${this.name}" has no handler for state "${this.#state.name}"`);
    const step = await handler(this.#state, context, run);
    if (step.step === 'goto') this.#state = step.state;
    else if (step.step !== 'wait') this.#complete = true;
    return step;
  }
}

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
