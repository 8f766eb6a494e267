import { backoffMs, delay, isNodepoolError, orAbort, type Clock, steadyNow } from '@nodepool/zk-protocol';
import { startDeadline } from '../../async/deadline.js';
import type { Logger } from '../../contract/logger.js';
import { isRateLimited } from '../../contract/errors.js';
import type { InstanceList } from './instance-list.js';
import type { Instance, InstanceView } from '../../contract/instance.js';
import type { MachineRun, MachineState, StateMachine, Step, Transition, Wait } from '../../contract/state-machine.js';

/** Options of a run of a machine. */
export interface RunMachineOptions<I extends Instance = Instance> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly instances: InstanceList<I>;
  /** An abort rejects the run with the signal's reason. */
  readonly signal: AbortSignal;
  /** Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Makes the error for a timeout. @param state - name of the present state */
  timeoutError?(state: string): Error;
  /**
   * Maximum number of consecutive retries while the cloud does not answer. Default: until the timeout. Calls are retried only in
   * states with an external id; in others they may have taken effect.
   */
  readonly maxRepeats?: number | undefined;
  /** Stores a new external id, and the state that brought it; awaited before the machine continues. */
  saveExternalId?(externalId: string, state: MachineState): Promise<void>;
  /** Runs each step of a state without an external id, until the id that it brings is stored. Default: at once. */
  readonly ordering?: (<T>(step: () => Promise<T>, signal: AbortSignal) => Promise<T>) | undefined;
  /** See {@link MachineRun.note}. Default: only logged. */
  note?(text: string): Promise<void>;
  onTransition?(transition: Transition): void;
  /** Called when the cloud stops answering, and when it answers again. */
  onOutage?(isAway: boolean): void;
  /** Number in [0, 1). */
  readonly random: () => number;
}

const PAUSE = { firstMs: 100, longestMs: 5_000 };
const REPEAT = { firstMs: 500, longestMs: 30_000 };
/** A machine with more steps without a wait is in a loop. */
const MAX_STEPS_AT_ONCE = 1_000;

/**
 * Runs a machine to its end: calls its handlers, waits between them, and stores the external id before continuing. Handlers
 * themselves do not wait.
 * @returns the result of the machine
 * @throws the error of the machine; `timeoutError` after the timeout; the signal's reason on abort
 */
export async function runMachine<Result, I extends Instance = Instance>(
  machine: StateMachine<Result, I>,
  options: RunMachineOptions<I>,
): Promise<Result> {
  if (options.timeoutMs === undefined) return new Runner(machine, options, options.signal).run();
  const deadline = startDeadline(options.clock, options.timeoutMs, options.signal);
  try {
    return await new Runner(machine, options, deadline.signal).run();
  } catch (error) {
    if (!deadline.expired) throw error;
    throw options.timeoutError?.(machine.state.name) ?? error;
  } finally {
    deadline.end();
  }
}

class Runner<Result, I extends Instance> implements MachineRun<I> {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly instances: InstanceView<I>;
  readonly startedMs: number;
  enteredMs: number;
  visits = 0;
  readonly #machine: StateMachine<Result, I>;
  readonly #options: RunMachineOptions<I>;
  #enteredMark: number;
  #saved: string | undefined;
  #repeats = 0;
  /** The cloud does not answer. */
  #isAway = false;
  #stepsAtOnce = 0;

  constructor(machine: StateMachine<Result, I>, options: RunMachineOptions<I>, signal: AbortSignal) {
    this.#machine = machine;
    this.#options = options;
    this.signal = signal;
    this.logger = options.logger;
    this.startedMs = steadyNow(options.clock);
    this.enteredMs = this.startedMs;
    this.#enteredMark = options.instances.mark();
    this.#saved = machine.state.externalId;
    this.instances = options.instances.view(() => this.#enteredMark, signal);
  }

  get nowMs(): number {
    return steadyNow(this.#options.clock);
  }

  async note(text: string): Promise<void> {
    await this.#options.note?.(text);
    this.logger.warn('An operation continues after an error', { state: this.#machine.state.name, error: text });
  }

  async run(): Promise<Result> {
    for (;;) {
      const from = this.#machine.state;
      const { ordering } = this.#options;
      const isOrder = from.externalId === undefined && ordering !== undefined;
      const step = await (isOrder ? ordering(() => this.#take(from), this.signal) : this.#take(from));
      if (!step) continue;
      if (step.step === 'done') {
        this.#moved(from, 'done');
        return step.result;
      }
      if (step.step === 'failed') {
        this.#moved(from, 'failed');
        throw step.error;
      }
      if (step.step === 'wait') await this.#wait(from, step);
    }
  }

  /** Takes one step, and stores the external id that it brings. @returns `undefined`: retry */
  async #take(from: MachineState): Promise<Step<MachineState, Result> | undefined> {
    const step = await this.#advance(from);
    if (step?.step === 'goto') await this.#enter(from, step.state);
    return step;
  }

  /** Calls a handler once. @returns `undefined`: retry */
  async #advance(from: MachineState): Promise<Step<MachineState, Result> | undefined> {
    this.signal.throwIfAborted();
    if (++this.#stepsAtOnce > MAX_STEPS_AT_ONCE) {
      throw new Error(`machine "${this.#machine.name}" runs in circles: its state is "${from.name}" again and again`);
    }
    try {
      const step = await orAbort(this.#machine.advance(this), this.signal);
      this.#noteOutage(false);
      this.#repeats = 0;
      return checkedStep(step, this.#machine.name, from);
    } catch (error) {
      if (this.signal.aborted || !this.#mayRepeat(from, error)) {
        this.#moved(from, 'failed');
        throw error;
      }
      const { random, clock } = this.#options;
      this.#noteOutage(true);
      const pauseMs = backoffMs(this.#repeats++, REPEAT, random);
      this.logger.warn('The cloud does not answer; trying again', { state: from.name, pauseMs, error });
      await this.#pause(delay(clock, pauseMs, this.signal));
      return undefined;
    }
  }

  #mayRepeat(from: MachineState, error: unknown): boolean {
    if (!isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')) return false;
    if (from.externalId === undefined && !isRateLimited(error)) return false;
    return this.#repeats < (this.#options.maxRepeats ?? Infinity);
  }

  async #enter(from: MachineState, state: MachineState): Promise<void> {
    this.#moved(from, state.name);
    const { externalId } = state;
    const isKnown = externalId === this.#saved;
    this.#saved = externalId; // a state without an id starts over: the next one with an id is stored again
    if (externalId !== undefined && !isKnown) await this.#options.saveExternalId?.(externalId, state);
    this.enteredMs = this.nowMs;
    this.#enteredMark = this.#options.instances.mark();
    this.visits = 0;
  }

  async #wait(state: MachineState, { ms, until }: Wait): Promise<void> {
    this.visits++;
    const { clock, instances, random } = this.#options;
    if (until) {
      await this.#pause(this.#first(until, ms));
    } else if (ms !== undefined) {
      await this.#pause(delay(clock, ms, this.signal));
    } else if (state.externalId !== undefined) {
      const end = instances.onOutage((isAway) => this.#noteOutage(isAway));
      await this.#pause(instances.news(state.externalId, this.enteredMs, this.signal)).finally(end);
    } else {
      const pauseMs = backoffMs(this.visits - 1, PAUSE, random);
      await this.#pause(delay(clock, pauseMs, this.signal));
    }
  }

  /** Waits until the timeout or until the promise settles; then aborts its signal. */
  async #first(until: (signal: AbortSignal) => Promise<unknown>, ms: number | undefined): Promise<void> {
    const over = new AbortController();
    const onAbort = () => over.abort(this.signal.reason);
    this.signal.addEventListener('abort', onAbort, { once: true });
    const event = orAbort(until(over.signal), this.signal);
    try {
      if (ms === undefined) await event;
      else await Promise.race([event, delay(this.#options.clock, ms, over.signal)]);
    } finally {
      this.signal.removeEventListener('abort', onAbort);
      over.abort(new Error('the wait is over'));
      event.catch(() => undefined); // aborted above
    }
  }

  async #pause(waiting: Promise<void>): Promise<void> {
    await waiting;
    this.#stepsAtOnce = 0;
  }

  #noteOutage(isAway: boolean): void {
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    this.#options.onOutage?.(isAway);
  }

  #moved(from: MachineState, to: string): void {
    const elapsedMs = this.nowMs - this.enteredMs;
    this.logger.debug('Operation moved on', { machine: this.#machine.name, from: from.name, to, elapsedMs });
    this.#options.onTransition?.({ machine: this.#machine.name, from: from.name, to, elapsedMs });
  }
}

/** A driver may have been compiled without types. */
function checkedStep<Result>(
  step: Step<MachineState, Result> | undefined,
  machine: string,
  { name }: MachineState,
): Step<MachineState, Result> {
  switch (step?.step) {
    case 'goto':
    case 'wait':
    case 'done':
    case 'failed':
      return step;
    default:
      throw new Error(`machine "${machine}" returned no step in state "${name}": return goto, wait, done or failed`);
  }
}
