import {
  buildPath,
  buildsPath,
  decodeBuild,
  encodeBuild,
  isZooKeeperError,
  newBuild,
  withBuild,
  type BuildRecord,
} from '@nodepool/zk-protocol';
import type { DiskimageConfig } from '@nodepool/core/config';
import { BUILD_REASON_KEY, DURATION_KEY, NEW_TRIAL, readyBuilds, withTrial } from '@nodepool/core/service';
import { RETIRED_KEY } from '../plan/plan-cleanup.js';
import type { BuilderContext } from '../context/builder-context.js';

/** Additional key of a build record: why the build failed. Other versions preserve it. */
const ERROR_KEY = 'error';

/** Conditions for storing the end of a build. */
export interface CompleteOptions {
  /** Gives up. */
  readonly signal: AbortSignal;
  /** Whether the lock of the image was lost since it was acquired, so that other builders may have considered the build dead. */
  readonly wasLockLost: () => boolean;
}

/** The record of one build while it is made. */
export class BuildRecords {
  readonly #context: BuilderContext;
  readonly #image: DiskimageConfig;
  readonly #formats: readonly string[];

  constructor(context: BuilderContext, image: DiskimageConfig, formats: readonly string[]) {
    this.#context = context;
    this.#image = image;
    this.#formats = formats;
  }

  now(): number {
    return this.#context.clock.now();
  }

  /** Stores a new record in state `building`. @param why - the reason for the build */
  async create(buildId: string, why: string): Promise<BuildRecord> {
    const { zk, hostname, builderId } = this.#context;
    const fields = { state: 'building', builder: hostname, builderId, formats: [...this.#formats] } as const;
    const begun = newBuild({ image: this.#image.name, id: buildId }, fields, this.now());
    const build = { ...begun, raw: { ...begun.raw, [BUILD_REASON_KEY]: why } };
    await zk.ensurePath(buildsPath(this.#image.name));
    await zk.create(buildPath(build.image, build.id), encodeBuild(build));
    await this.#context.noteBuild();
    return build;
  }

  /**
   * Stores the build as `ready`. While the lock of the image was lost, others may have judged the build dead and removed its
   * record: then it is made again. A build that was taken out of service otherwise stays so.
   * @returns `undefined` when it was not stored
   */
  async complete(building: BuildRecord, { signal, wasLockLost }: CompleteOptions): Promise<BuildRecord | undefined> {
    const { zk } = this.#context;
    const { username, pythonPath, shellType } = this.#image;
    const ended = withBuild(
      building,
      { state: 'ready', username, pythonPath, shellType: shellType ?? null, formats: [...this.#formats] },
      this.now(),
    );
    const ready = this.#tried({ ...ended, raw: { ...ended.raw, [DURATION_KEY]: secondsOf(building, ended) } });
    const path = buildPath(ready.image, ready.id);
    for (;;) {
      await zk.whenConnected(signal);
      try {
        const { data, stat } = await zk.getData(path);
        const stored = decodeBuild(building, data, stat, this.now());
        if (stored?.state === 'ready') return ready; // the answer to the first attempt was lost
        if (stored?.state !== 'building' && !(wasLockLost() && stored?.raw[RETIRED_KEY] === true)) return undefined;
        await zk.setData(path, encodeBuild(ready), stat.version);
        return ready;
      } catch (error) {
        if (isZooKeeperError(error, 'ZK_NO_NODE')) {
          if (!wasLockLost() || this.#isOutdated(building)) return undefined;
          await this.#createAgain(path, ready);
        } else if (!isInterrupted(error)) throw error;
      }
    }
  }

  /** A build that replaces another one is tried out by launches if that is configured. */
  #tried(build: BuildRecord): BuildRecord {
    const { canary, name } = this.#image;
    const hasPrevious = readyBuilds(this.#context.tree.images.get(name)).some(({ id }) => id !== build.id);
    return canary && hasPrevious ? withTrial(build, NEW_TRIAL) : build;
  }

  /** Another process has built the image since. */
  #isOutdated({ image, stateTimeMs }: BuildRecord): boolean {
    const [newest] = readyBuilds(this.#context.tree.images.get(image));
    return newest !== undefined && newest.stateTimeMs > stateTimeMs;
  }

  /** Stores that the build failed, why, and after which time; does nothing when the record is gone or is not `building` any more. */
  async fail(building: BuildRecord, error: string): Promise<void> {
    const { zk } = this.#context;
    const failed = withBuild(building, { state: 'failed', formats: [] }, this.now());
    const notes = { [ERROR_KEY]: error, [DURATION_KEY]: secondsOf(building, failed) };
    const path = buildPath(building.image, building.id);
    try {
      const { data, stat } = await zk.getData(path);
      if (decodeBuild(building, data, stat, this.now())?.state !== 'building') return;
      const body = encodeBuild({ ...failed, raw: { ...failed.raw, ...notes } });
      await zk.setData(path, body, stat.version);
    } catch (problem) {
      if (!isZooKeeperError(problem)) throw problem;
      // deleted or unreachable: the janitor removes a build that stays `building` without a lock
      this.#context.logger.debug('Failed to store the end of a build', { build: building.id, error: problem });
    }
  }

  async #createAgain(path: string, build: BuildRecord): Promise<void> {
    const { zk } = this.#context;
    try {
      await zk.ensurePath(buildsPath(build.image));
      await zk.create(path, encodeBuild(build));
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NODE_EXISTS') && !isInterrupted(error)) throw error;
    }
  }
}

const secondsOf = (building: BuildRecord, ended: BuildRecord): number =>
  (ended.stateTimeMs - building.stateTimeMs) / 1_000;

/** The write is tried again: the connection broke, or another process was quicker. */
const isInterrupted = (error: unknown): boolean =>
  isZooKeeperError(error, 'ZK_BAD_VERSION') ||
  isZooKeeperError(error, 'ZK_CONNECTION_LOSS') ||
  isZooKeeperError(error, 'ZK_SESSION_EXPIRED');
