import {
  delay,
  Election,
  isZooKeeperError,
  STATS_ELECTION_PATH,
  type CancelTimer,
  type Clock,
  type ZooKeeper,
  steadyNow,
} from '@nodepool/zk-protocol';
import type { Logger } from '../contract/logger.js';

/** Minimum interval between sends. */
const SEND_EVERY_MS = 1_000;
/** Pause between the loss of leadership and the next candidacy, as in Nodepool's launchers. */
const STAND_AGAIN_MS = 5_000;

/** Options of {@link Leadership}. */
export interface LeadershipOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Identifier shown to the other candidates: `<short host name>-<pid>`. */
  readonly identifier: string;
  /** Sends the metrics. @param everything - `false` sends only values that changed since the last call */
  send(everything: boolean): void;
}

/**
 * Elects one launcher to send the metrics of the installation. Joins the election of Nodepool's launchers. While elected,
 * sends after changes; no timer runs while nothing changes.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #stop = new AbortController();
  #leading = false;
  #sentMs = -Infinity;
  #cancel: CancelTimer | undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  get leading(): boolean {
    return this.#leading;
  }

  /** Stands for election until stopped. */
  start(): void {
    void this.#run();
  }

  stop(): void {
    this.#stop.abort(new Error('the launcher stops'));
    this.#resign();
  }

  /** Sends a change immediately, or one second after the last send. */
  changed(): void {
    if (!this.#leading || this.#cancel) return;
    const { clock } = this.#options;
    const pause = Math.max(0, this.#sentMs + SEND_EVERY_MS - steadyNow(clock));
    this.#cancel = clock.setTimer(pause, () => {
      this.#cancel = undefined;
      this.#send(false);
    });
  }

  /** Sends everything, if this is the leader. */
  refresh(): void {
    if (this.#leading) this.#send(true);
  }

  async #run(): Promise<void> {
    const { zk, clock, identifier, logger } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted && zk.state !== 'CLOSED') {
      try {
        await new Election(zk, STATS_ELECTION_PATH, { identifier, clock }).run((lost) => this.#lead(lost), signal);
      } catch (error) {
        if (!isZooKeeperError(error)) logger.warn('Standing for the statistics election failed', { error });
        else logger.debug('Standing for the statistics election was interrupted', { error });
      }
      // rejects when stopped, which ends the loop
      await delay(clock, STAND_AGAIN_MS, signal).catch(() => undefined);
    }
  }

  async #lead(lost: AbortSignal): Promise<void> {
    const end = AbortSignal.any([lost, this.#stop.signal]);
    if (end.aborted) return;
    this.#options.logger.info('This launcher sends the statistics of the installation');
    this.#leading = true;
    this.#send(true);
    await new Promise<void>((resolve) => end.addEventListener('abort', () => resolve(), { once: true }));
    this.#resign();
  }

  #send(everything: boolean): void {
    this.#sentMs = steadyNow(this.#options.clock);
    this.#options.send(everything);
  }

  #resign(): void {
    this.#leading = false;
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
