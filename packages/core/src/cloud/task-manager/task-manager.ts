import { steadyNow, systemClock, type Clock } from '@nodepool/zk-protocol';
import { ProviderUnavailableError, statsdKeyOf } from '../../contract/errors.js';
import { ScanQueue } from '../../async/scan-queue.js';
import { silentLogger, type Logger } from '../../contract/logger.js';
import type { OperationMetrics } from '../../contract/operation-metrics.js';
import { NEVER_ABORTED } from '../../async/never-aborted.js';
import { isRateLimited, RateLimitedError } from '../../contract/errors.js';
import { CallPauses, type CallPause } from './call-pauses.js';
import { OpenCalls, type OpenCall } from './open-calls.js';
import { RateLimiter } from './rate-limiter.js';
import { SharedCalls } from './shared-calls.js';
import { DEFAULT_TASK_TIMEOUT_MS, TaskQueue, type QueuedTask } from './task-queue.js';

/** How a task manager paces what it is given. */
export interface TaskManagerOptions {
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** Calls per second; `undefined` or `0`: no limit, until the cloud refuses calls. */
  readonly requestsPerSecond?: number | undefined;
  /** Calls at the same time. Default 10. */
  readonly maxParallel?: number | undefined;
  /** What the distance between two calls is measured from. Default: the start of the one before. */
  readonly measuredFrom?: 'start' | 'end' | undefined;
  /** How often a call the cloud refused for being one too many is repeated. Default 5. */
  readonly maxRepeats?: number | undefined;
  /** How long one task may take, the wait for its turn not included; then it fails and the next one runs. Default 300,000. */
  readonly taskTimeoutMs?: number | undefined;
  readonly metrics?: OperationMetrics | undefined;
  readonly logger?: Logger | undefined;
  /** Number in [0, 1) that spreads pauses. */
  readonly random?: (() => number) | undefined;
}

/** How to make one call. */
export interface CallOptions {
  /** Takes the call out of the queue, or is handed to it. */
  readonly signal?: AbortSignal | undefined;
  /** Awaited before the call is made, and not counted in its time. */
  readonly turn?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** It moves so much data that it may take minutes. Default: false. */
  readonly isTransfer?: boolean | undefined;
}

/** Longest pause that a call from within a task waits for; tasks behind it have to wait as well. */
const LONGEST_WAIT_IN_TASK_MS = 10_000;
/** The call was not made: its kind was paused while it waited for its turn. */
const NOT_MADE = Symbol('not made');

/** What a task manager needs of a task; see `Task`. */
export type RunnableTask = QueuedTask<TaskManager>;

/**
 * Paces calls to one cloud: at most so many a second and so many at once, first come, first served, slower while the
 * cloud asks for it. Each call is counted in the metrics under its name, e.g. `compute.GET.servers`. Where the cloud asks to wait,
 * the calls of that name wait, for minutes at most; others are made.
 */
export class TaskManager {
  readonly name: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: OperationMetrics | undefined;
  readonly #limiter: RateLimiter;
  readonly #pauses: CallPauses;
  readonly #parallel: ScanQueue;
  readonly #shared = new SharedCalls();
  readonly #maxRepeats: number;
  readonly #running = new Set<Promise<unknown>>();
  readonly #open: OpenCalls;
  readonly #tasks: TaskQueue<TaskManager>;
  #stopped = false;

  constructor(name: string, options: TaskManagerOptions = {}) {
    this.name = name;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#metrics = options.metrics;
    this.#open = new OpenCalls(this.#clock);
    this.#limiter = new RateLimiter({ ...options, clock: this.#clock });
    this.#pauses = new CallPauses({ clock: this.#clock, random: options.random ?? Math.random });
    this.#parallel = new ScanQueue(options.maxParallel ?? 10);
    this.#maxRepeats = options.maxRepeats ?? 5;
    const taskTimeoutMs = options.taskTimeoutMs ?? DEFAULT_TASK_TIMEOUT_MS;
    const pauseMs = (name: string) => this.#pauses.leftMs(name);
    this.#tasks = new TaskQueue({ clock: this.#clock, taskTimeoutMs, manager: this, pauseMs });
  }

  /** Calls that the cloud asked to wait with, by name. */
  get pauses(): readonly CallPause[] {
    return this.#pauses.all;
  }

  /** Calls that have not been answered for long, without transfers. */
  get lateCalls(): readonly OpenCall[] {
    return this.#open.late;
  }

  /** Running and waiting calls. */
  get pending(): number {
    return this.#running.size;
  }

  /**
   * Queues a call.
   * @param call - its name for metrics
   * @throws what the call throws; `ProviderUnavailableError` after `stop`
   */
  call<T>(call: string, fn: (signal: AbortSignal) => Promise<T>, options: CallOptions = {}): Promise<T> {
    return this.#track(() => this.#repeat(call, fn, options));
  }

  /**
   * Like `call`, but shares the result among all callers with the same name before the call starts. For lists: ten machines that
   * wait for instances cost one call, and no caller gets a result older than its request.
   */
  list<T>(call: string, fn: (signal: AbortSignal) => Promise<T>, options: CallOptions = {}): Promise<T> {
    return this.#track(() =>
      this.#shared.join(
        call,
        (signal, begin) =>
          this.#repeat(
            call,
            (own) => {
              begin();
              return fn(own);
            },
            { ...options, signal },
          ),
        options.signal,
      ),
    );
  }

  /**
   * Runs a task after all that were submitted before it. Returns the task; its `wait` gives the result. A task that takes
   * longer than it may, or whose signal is aborted, fails, and the next one runs.
   */
  submitTask<T extends RunnableTask>(task: T, { signal }: CallOptions = {}): T {
    if (this.#stopped) task.refuse(this.#stoppedError());
    else void this.#track(() => this.#tasks.add(task, signal));
    return task;
  }

  /**
   * Makes one call to the cloud from within a task, at the distance that the rate asks for.
   * @throws {RateLimitedError} the cloud asked to wait with such calls for longer than other tasks can wait
   */
  async rateLimit<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const name = this.#tasks.running ?? '';
    const leftMs = this.#pauses.leftMs(name);
    if (leftMs > LONGEST_WAIT_IN_TASK_MS) {
      const message = `not asked, as the cloud refuses such calls for another ${Math.ceil(leftMs / 1_000)} s`;
      throw new RateLimitedError(message, { retryAfterMs: leftMs });
    }
    await this.#pauses.over(name, signal);
    try {
      const result = await this.#limiter.run(() => this.#open.run(name, call), signal);
      this.#succeeded(name);
      return result;
    } catch (error) {
      if (isRateLimited(error)) this.#refused(name, error);
      throw error;
    }
  }

  /** Counts a call that was not made by `call` or `list`. @param error - what it failed with, if it did */
  report(call: string, ms: number, error?: unknown): void {
    this.#metrics?.apiCall?.(this.name, call, ms, error === undefined ? 'ok' : statsdKeyOf(error));
  }

  /** The present time, for durations. */
  now(): number {
    return steadyNow(this.#clock);
  }

  /** Takes nothing new. What was submitted is finished; tasks that have not ended a minute later fail. */
  stop(): void {
    this.#stopped = true;
    this.#tasks.stop();
  }

  /** Resolves when everything that was submitted has ended. */
  async join(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
  }

  /** The wait for the end of a pause takes no place of a call that may be made. */
  async #repeat<T>(call: string, fn: (signal: AbortSignal) => Promise<T>, options: CallOptions): Promise<T> {
    const { signal = NEVER_ABORTED } = options;
    for (let attempt = 0; ;) {
      await this.#pauses.over(call, signal);
      try {
        const result = await this.#parallel.run(() => this.#once(call, fn, signal, options), signal);
        if (result !== NOT_MADE) return result;
      } catch (error) {
        if (!isRateLimited(error) || attempt++ >= this.#maxRepeats || signal.aborted) throw error;
        this.#logger.warn('The cloud asks to slow down', { call, spacingMs: Math.round(this.#limiter.spacingMs) });
      }
    }
  }

  async #once<T>(
    call: string,
    fn: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
    { turn, isTransfer }: CallOptions,
  ): Promise<T | typeof NOT_MADE> {
    const isPaused = () => this.#pauses.leftMs(call) > 0;
    if (isPaused() || !(await this.#limiter.acquire(signal, isPaused))) return NOT_MADE;
    signal.throwIfAborted();
    await turn?.(signal);
    const startedMs = steadyNow(this.#clock);
    try {
      const result = await (isTransfer ? fn(signal) : this.#open.run(call, () => fn(signal)));
      this.#succeeded(call);
      this.report(call, steadyNow(this.#clock) - startedMs);
      return result;
    } catch (error) {
      this.report(call, steadyNow(this.#clock) - startedMs, error);
      if (isRateLimited(error)) this.#refused(call, error);
      throw error;
    } finally {
      this.#limiter.ended();
    }
  }

  #succeeded(call: string): void {
    this.#limiter.succeeded();
    this.#pauses.succeeded(call);
  }

  #refused(call: string, error: RateLimitedError): void {
    this.#limiter.refused();
    this.#pauses.refused(call, error);
  }

  async #track<T>(start: () => Promise<T>): Promise<T> {
    if (this.#stopped) throw this.#stoppedError();
    const running = start();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  #stoppedError(): ProviderUnavailableError {
    return new ProviderUnavailableError(`task manager "${this.name}" is stopped: it takes no new calls`);
  }
}
