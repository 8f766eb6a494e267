import {
  delay,
  isNodepoolError,
  isZooKeeperError,
  ZkLock,
  type BuildRecord,
  type ImageTree,
  imageBuildLockPath,
  type Clock,
  type ImageEntry,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { ConfigError } from '@nodepool/core';
import type { Logger } from '@nodepool/core';

/** Root of the locks on builder ids. The original Nodepool does not use it. */
const ROOT = '/nodepool/builder-ids';
/** A builder that was killed holds its id until its session ends. */
const PATIENCE_MS = 40_000;
/** Until the next attempt to lock an id that was lost. */
const RETRY_MS = 5_000;

/** What a {@link BuilderIdLock} works with. */
export interface BuilderIdContext extends ForeignBuildContext {
  readonly hostname: string;
  readonly imagesDir: string;
}

/** Why another builder may have the same id. */
export interface IdProblem {
  readonly reason: 'LockLost' | 'BuildOfAnother';
  readonly message: string;
}

/**
 * Ensures from `take` to `release` that no other builder has this id: two builders on one directory would delete each other's
 * files. Builders of the original Nodepool take no such lock and are detected by their builds.
 */
export class BuilderIdLock {
  readonly #context: BuilderIdContext;
  readonly #lock: ZkLock;
  readonly #identifier: string;
  readonly #regained: () => void;
  readonly #stop = new AbortController();
  #foreignBuilds: readonly BuildRecord[] = [];

  /** @param regained - called when the lock was lost and is held again */
  constructor(context: BuilderIdContext, regained: () => void) {
    const { zk, clock, hostname } = context;
    this.#context = context;
    this.#regained = regained;
    this.#identifier = `${hostname} (process ${process.pid})`;
    this.#lock = new ZkLock(zk, builderIdPath(context.builderId), { clock, identifier: this.#identifier });
  }

  /** False while another builder may have the same id. */
  get held(): boolean {
    return this.problem === undefined;
  }

  get problem(): IdProblem | undefined {
    const nothing = 'so it builds, uploads and deletes nothing';
    if (!this.#lock.held) return { reason: 'LockLost', message: `another builder may have its id, ${nothing}` };
    if (this.#foreignBuilds.length === 0) return undefined;
    return {
      reason: 'BuildOfAnother',
      message: `another builder has its id, ${nothing}: it ${this.#foreignBuildsText()}`,
    };
  }

  /** @throws ConfigError naming the other builder if it still holds the id after a timeout; an error after `release` */
  async take(): Promise<void> {
    const { zk, logger, builderId: builder } = this.#context;
    if (!(await this.#lock.acquire({ blocking: false, signal: this.#stop.signal }))) {
      const holder = (await ZkLock.lockHolder(zk, builderIdPath(this.#context.builderId)))?.identifier ?? 'unknown';
      const isOwn = holder === this.#identifier; // the session before may live on for a while
      const who = isOwn ? 'The session of this builder before this one' : 'Another builder';
      logger.warn(`${who} has its id; waiting for its end`, { builder, holder });
      await this.#waitFor(holder);
    }
    const { lost } = this.#lock;
    lost.addEventListener('abort', () => void this.#takeAgain(), { once: true });
    if (lost.aborted) void this.#takeAgain();
  }

  /**
   * Checks at the start for a builder that takes no lock on its id.
   * @throws ConfigError naming its builds if they are still in progress after a timeout
   */
  async refuseOthers({ images }: Pick<ImageTree, 'images'>): Promise<void> {
    this.#foreignBuilds = await findForeignBuilds(this.#context, images.values());
    try {
      const limit = { timeoutMs: PATIENCE_MS, signal: this.#stop.signal };
      await waitForForeignBuilds(this.#context, this.#foreignBuilds, limit);
      this.#foreignBuilds = [];
    } catch (error) {
      throw this.#toConfigError(
        `a builder without a lock on its id, such as one of the original, ${this.#foreignBuildsText()}`,
        error,
      );
    }
  }

  /**
   * Checks periodically for a builder that takes no lock on its id.
   * @param isOwn - whether this process makes the build
   */
  async lookForOthers(
    { ready, images }: Pick<ImageTree, 'ready' | 'images'>,
    isOwn: (buildId: string) => boolean,
  ): Promise<void> {
    if (!ready) return;
    const wereThere = this.#foreignBuilds.length > 0;
    try {
      this.#foreignBuilds = await findForeignBuilds(this.#context, images.values(), isOwn);
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      return; // checked again in the next session
    }
    const { logger, builderId: builder } = this.#context;
    if (!wereThere && this.#foreignBuilds.length > 0)
      logger.error(`Another builder with this id ${this.#foreignBuildsText()}; starting no work until it ends`, {
        builder,
      });
    else if (wereThere && this.held) this.#regained();
  }

  async release(): Promise<void> {
    this.#stop.abort(new Error('the builder stops'));
    await this.#lock.release();
  }

  async #waitFor(holder: string): Promise<void> {
    try {
      await this.#lock.acquire({ timeoutMs: PATIENCE_MS, signal: this.#stop.signal });
    } catch (error) {
      throw this.#toConfigError(`a builder with the same id runs: ${holder}`, error);
    }
  }

  #foreignBuildsText(): string {
    const names = this.#foreignBuilds.map(
      ({ image, id, builder }) => `${image}-${id} on ${builder ?? 'an unknown host'}`,
    );
    return `builds ${names.join(', ')}`;
  }

  /** @returns the error itself when it does not say that the other is still there */
  #toConfigError(what: string, error: unknown): unknown {
    if (!isNodepoolError(error, 'NODEPOOL_LOCK_TIMEOUT')) return error;
    const advice =
      `It uses images-dir "${this.#context.imagesDir}" too, or a copy of its builder_id.txt: ` +
      'stop one of them, or give it a directory of its own (and delete the copied builder_id.txt)';
    return new ConfigError(`${what}. ${advice}`, [], { cause: error });
  }

  async #takeAgain(): Promise<void> {
    const { clock, logger, builderId: builder } = this.#context;
    const { signal } = this.#stop;
    logger.warn('Lost the lock on the id of the builder; starting no work until it is held again', { builder });
    while (!signal.aborted) {
      try {
        await this.#lock.release();
        await this.take();
        logger.info('Acquired the lock on the id of the builder again', { builder });
        this.#regained();
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger.error('Failed to lock the id of the builder; retrying', { builder, error });
        await delay(clock, RETRY_MS, signal).catch(() => undefined); // an abort ends the loop
      }
    }
  }
}

/** The znode of a builder, with the lock on its id. */
export const builderIdPath = (builderId: string): string => `${ROOT}/${encodeURIComponent(builderId)}`;

/** Context of {@link findForeignBuilds} and {@link waitForForeignBuilds}. */
interface ForeignBuildContext {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly builderId: string;
}

/**
 * Finds builds in progress by another process with the id of this builder, such as an original Nodepool builder on the same
 * images-dir. Builds of an earlier process of this builder do not count: their lock expired with the lock of the id.
 * @param isOwn - whether this process makes the build
 */
async function findForeignBuilds(
  { zk, builderId }: Pick<ForeignBuildContext, 'zk' | 'builderId'>,
  images: Iterable<ImageEntry>,
  isOwn: (buildId: string) => boolean = () => false,
): Promise<BuildRecord[]> {
  const found: BuildRecord[] = [];
  for (const { builds } of images) {
    for (const build of builds.values()) {
      const isOurs = build.state === 'building' && build.builderId === builderId && !isOwn(build.id);
      if (isOurs && (await isMadeElsewhere(zk, build))) found.push(build);
    }
  }
  return found;
}

/** A builder locks the image before it creates the record, so a record older than the lock belongs to a dead build. */
async function isMadeElsewhere(zk: ZooKeeper, { image, stat }: BuildRecord): Promise<boolean> {
  const holder = await ZkLock.lockHolder(zk, imageBuildLockPath(image));
  const lock = holder && (await zk.exists(holder.entryPath));
  return lock !== undefined && stat !== undefined && lock.czxid < stat.czxid && lock.ephemeralOwner !== zk.sessionId;
}

/**
 * Waits until the locks of these builds are free. The lock of a dead process is freed when its session expires.
 * @throws NODEPOOL_LOCK_TIMEOUT if a lock is still held after the time limit
 */
async function waitForForeignBuilds(
  { zk, clock, logger }: ForeignBuildContext,
  builds: readonly BuildRecord[],
  limit: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const wait = async ({ image, id: build, builder }: BuildRecord) => {
    logger.warn('Another builder builds with the id of this one; waiting for its end', { image, build, builder });
    const lock = new ZkLock(zk, imageBuildLockPath(image), { clock });
    await lock.acquire(limit);
    await lock.release();
  };
  await Promise.all(builds.map(wait));
}
