import { delay, isNodepoolError, ZkLock, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';
import { ConfigError, type Logger } from '@nodepool/core';

/** Where builders of this program say which ids are in use; others do not look here. */
const ROOT = '/nodepool/builder-ids';
/** A builder that was killed holds its id until its session ends. */
const PATIENCE_MS = 40_000;
/** Until the next attempt to lock an id that was lost. */
const RETRY_MS = 5_000;

/** What a {@link BuilderIdLock} works with. */
export interface BuilderIdSurroundings {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hostname: string;
  readonly builderId: string;
  readonly imagesDir: string;
}

/** Makes sure, from `take` to `release`, that no other builder has this id: two on one directory would delete each other's files. */
export class BuilderIdLock {
  readonly #surroundings: BuilderIdSurroundings;
  readonly #lock: ZkLock;
  readonly #regained: () => void;
  readonly #stop = new AbortController();

  /** @param regained - the id was lost, with its session or otherwise, and is held again */
  constructor(surroundings: BuilderIdSurroundings, regained: () => void) {
    const { zk, clock, hostname } = surroundings;
    this.#surroundings = surroundings;
    this.#regained = regained;
    this.#lock = new ZkLock(zk, rootOf(surroundings), { clock, identifier: `${hostname} (process ${process.pid})` });
  }

  /** False while another builder may have the id. */
  get held(): boolean {
    return this.#lock.held;
  }

  /** @throws ConfigError naming the other builder, when it is still there after a while; an error after `release` */
  async take(): Promise<void> {
    const { zk, logger, builderId: builder } = this.#surroundings;
    if (!(await this.#lock.acquire({ blocking: false, signal: this.#stop.signal }))) {
      const holder = (await ZkLock.lockHolder(zk, rootOf(this.#surroundings)))?.identifier ?? 'unknown';
      logger.warn('Another builder has this id; waiting for its end', { builder, holder });
      await this.#waitFor(holder);
    }
    const { lost } = this.#lock;
    lost.addEventListener('abort', () => void this.#takeAgain(), { once: true });
    if (lost.aborted) void this.#takeAgain();
  }

  async release(): Promise<void> {
    this.#stop.abort(new Error('the builder stops'));
    await this.#lock.release();
  }

  async #waitFor(holder: string): Promise<void> {
    try {
      await this.#lock.acquire({ timeoutMs: PATIENCE_MS, signal: this.#stop.signal });
    } catch (error) {
      if (!isNodepoolError(error, 'NODEPOOL_LOCK_TIMEOUT')) throw error;
      const { imagesDir } = this.#surroundings;
      throw new ConfigError(
        `a builder with the same id runs: ${holder}. It uses images-dir "${imagesDir}" too, or a copy of its ` +
          'builder_id.txt: stop one of them, or give it a directory of its own (and delete the copied builder_id.txt)',
        [],
        { cause: error },
      );
    }
  }

  async #takeAgain(): Promise<void> {
    const { clock, logger, builderId: builder } = this.#surroundings;
    const { signal } = this.#stop;
    logger.warn('The lock on the id of the builder was lost; nothing is begun until it is held again', { builder });
    while (!signal.aborted) {
      try {
        await this.#lock.release();
        await this.take();
        logger.info('The lock on the id of the builder is held again', { builder });
        this.#regained();
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger.error('The id of the builder cannot be locked; trying again', { builder, error });
        await delay(clock, RETRY_MS, signal).catch(() => undefined); // an abort ends the loop
      }
    }
  }
}

const rootOf = ({ builderId }: BuilderIdSurroundings): string => `${ROOT}/${encodeURIComponent(builderId)}`;
