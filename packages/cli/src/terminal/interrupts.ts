import { constants } from 'node:os';
import { NodepoolError } from '@nodepool/zk-protocol';

/** Signals that end a command. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
type InterruptSignal = (typeof SIGNALS)[number];

/** The person, or the system, wants the command to end. */
export class InterruptedError extends NodepoolError {
  /** Exit status shells expect of a process that a signal ended. */
  readonly exitStatus: number;

  constructor(signal: InterruptSignal) {
    super('NODEPOOL_INTERRUPTED', `interrupted by ${signal}`);
    this.exitStatus = 128 + constants.signals[signal];
  }
}

/**
 * Turns signals into an abort, so that what was taken can be given back. A second signal ends the process at once: the
 * session then ends by itself, and with it every lock and request of ours.
 */
export class Interrupts {
  readonly #controller = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals) => this.#handle(signal as InterruptSignal);
  #divert: ((signal: NodeJS.Signals) => void) | undefined;
  #status: number | undefined;

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
    process.stdout.on('error', this.#onBrokenPipe);
  }

  /** Aborts at the first signal, with an {@link InterruptedError}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Exit status that stands for the last signal; `undefined` when there was none. */
  get status(): number | undefined {
    return this.#status;
  }

  /** Hands signals to another receiver, e.g. a command that runs; `undefined` takes them back. */
  divert(receiver: ((signal: NodeJS.Signals) => void) | undefined): void {
    this.#divert = receiver;
  }

  /** Signals act as usual again. */
  dispose(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    process.stdout.off('error', this.#onBrokenPipe);
  }

  readonly #onBrokenPipe = () => this.#handle('SIGHUP');

  #handle(signal: InterruptSignal): void {
    this.#status = 128 + constants.signals[signal];
    if (this.#divert) {
      this.#divert(signal);
      return;
    }
    const interrupted = new InterruptedError(signal);
    if (this.#controller.signal.aborted) process.exit(interrupted.exitStatus);
    this.#controller.abort(interrupted);
  }
}
