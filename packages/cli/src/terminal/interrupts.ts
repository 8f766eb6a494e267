import { setMaxListeners } from 'node:events';
import { constants } from 'node:os';
import { NodepoolError } from '@nodepool/zk-protocol';

/** Signals that end a command. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
type InterruptSignal = (typeof SIGNALS)[number];

/** A signal interrupted the command. */
export class InterruptedError extends NodepoolError {
  /** Exit status of a process that a signal ended, as shells expect it. */
  readonly exitStatus: number;

  constructor(signal: InterruptSignal) {
    super('NODEPOOL_INTERRUPTED', `interrupted by ${signal}`);
    this.exitStatus = 128 + constants.signals[signal];
  }
}

/**
 * Turns signals into an abort, so that nodes can be returned. A second signal exits at once: locks and requests then end with the
 * ZooKeeper session.
 */
export class Interrupts {
  readonly #controller = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals) => this.#handle(signal as InterruptSignal);
  #divert: ((signal: NodeJS.Signals) => void) | undefined;
  #status: number | undefined;
  #onFirst: () => void = () => {};
  /** Resolves at the first signal. */
  readonly first = new Promise<void>((resolve) => (this.#onFirst = resolve));

  constructor() {
    setMaxListeners(0, this.signal); // one for each machine that is checked
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
    process.stdout.on('error', this.#onBrokenPipe);
  }

  /** Aborts at the first signal, with an {@link InterruptedError}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Exit status of the last signal; `undefined` if there was none. */
  get status(): number | undefined {
    return this.#status;
  }

  /** Passes signals to a receiver, e.g. a running command, instead; `undefined` ends that. */
  divert(receiver: ((signal: NodeJS.Signals) => void) | undefined): void {
    this.#divert = receiver;
  }

  /** Restores the default action of signals. */
  dispose(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    process.stdout.off('error', this.#onBrokenPipe);
  }

  readonly #onBrokenPipe = () => this.#handle('SIGHUP');

  #handle(signal: InterruptSignal): void {
    this.#status = 128 + constants.signals[signal];
    this.#onFirst();
    if (this.#divert) {
      this.#divert(signal);
      return;
    }
    const interrupted = new InterruptedError(signal);
    if (this.#controller.signal.aborted) process.exit(interrupted.exitStatus);
    this.#controller.abort(interrupted);
  }
}
