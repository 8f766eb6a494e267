import type { Instance } from '../../contract/instance.js';
import type { Handler, Handlers, MachineRun, MachineState, StateMachine, Step } from '../../contract/state-machine.js';

/** Options of a state machine. */
export interface StateMachineOptions<State extends MachineState, Result, Context, I extends Instance = Instance> {
  /** For logs and metrics, e.g. `create`. */
  readonly name: string;
  readonly initial: State;
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
    this.#state = options.initial;
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
