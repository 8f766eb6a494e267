import { readyBuilds, WorkQueue, type Step } from '@nodepool/core/service';
import { setMaxListeners } from 'node:events';
import { imageBuildLockPath, imageBuildRequestPath, removeBuildRequest } from '@nodepool/zk-protocol';
import type { DiskimageConfig } from '@nodepool/core/config';
import type { Progress } from '../context/progress.js';
import { judgeBuild, type BuildVerdict } from '../plan/judge-build.js';
import type { BuilderContext } from '../context/builder-context.js';
import { Backoffs } from '../context/backoffs.js';
import type { FailedWork } from '../context/failed-work.js';
import { whenReleased } from '../context/when-released.js';
import { ImageLock } from './image-lock.js';
import { buildImage } from './build-image.js';

const RETRY = { firstMs: 30_000, longestMs: 3_600_000 };
/** After this time an image is looked at again in any case: the clock may have been set. */
const LONGEST_WAIT_MS = 6 * 3_600_000;

/** Why an image is not being built, or the progress of its build, for people. */
export type BuildStatus = { readonly building: Progress } | { readonly waits: string };

/** A build that is due and cannot start. */
export interface WaitingBuild {
  readonly image: string;
  readonly reason: string;
  /** All workers are busy, too little space, or an error before the start. */
  readonly cause: 'WorkersBusy' | 'NoSpace' | 'Error';
  /** Since when, in ms since the epoch. */
  readonly sinceMs: number;
  /** When it is tried again without a change; missing: there is no such time. */
  readonly nextTryMs?: number | undefined;
}

/** Builds images: as many at a time as there are workers, and one of each image across all builders. */
export class Builds {
  readonly #context: BuilderContext;
  readonly #workers: number;
  readonly #backoffs: Backoffs;
  readonly #queue: WorkQueue<string>;
  /** Builds in progress by image. `undefined`: it is about to begin. */
  readonly #running = new Map<string, Progress | undefined>();
  /** Images whose builds wait for a worker. */
  readonly #waiting = new Set<string>();
  readonly #status = new Map<string, string>();
  readonly #blocked = new Map<string, WaitingBuild>();
  readonly #stop = new AbortController();

  constructor(context: BuilderContext, workers: number) {
    this.#context = context;
    this.#workers = workers;
    this.#backoffs = new Backoffs(context, RETRY);
    this.#queue = new WorkQueue(context, {
      decide: (image) => this.#decide(image),
      failed: (image, error) => this.#failed(image, error),
    });
    setMaxListeners(0, this.#stop.signal); // one for each tool that runs
  }

  /** Status of each image. */
  status(image: string): BuildStatus {
    const progress = this.#running.get(image);
    return progress ? { building: progress } : { waits: this.#status.get(image) ?? 'not looked at yet' };
  }

  /** Builds that are due and cannot start, for example because of disk space. */
  get waiting(): readonly WaitingBuild[] {
    return [...this.#blocked.values()].map((one) => ({ ...one, nextTryMs: this.#backoffs.until(one.image) }));
  }

  /** Builds that failed and will be retried. Builds that could not start are in {@link waiting}. */
  get failing(): readonly FailedWork[] {
    return [...this.#context.config().diskimages.keys()].flatMap((image) => {
      const { attempts = 0, isHold, reason: error = '', sinceMs = 0 } = this.#backoffs.get(image) ?? {};
      const nextTryMs = this.#backoffs.until(image);
      const isWaiting =
        nextTryMs !== undefined && isHold === false && !this.#running.has(image) && !this.#blocked.has(image);
      if (!isWaiting) return [];
      return [{ image, buildId: '', provider: null, attempts, error, failedMs: sinceMs, nextTryMs }];
    });
  }

  /** Builds in progress. */
  get running(): readonly Progress[] {
    return [...this.#running.values()].filter((progress) => progress !== undefined);
  }

  /** Longest remaining time of the builds in progress until their `build-timeout`. */
  get longestMs(): number {
    const { config, clock } = this.#context;
    const nowMs = clock.now();
    const left = [...this.#running].map(([image, progress]) => {
      const limitMs = config().diskimages.get(image)?.buildTimeoutMs ?? 0;
      return (progress?.startedMs ?? nowMs) + limitMs - nowMs;
    });
    return Math.max(0, ...left);
  }

  /** Checks an image after a change. */
  consider(image: string): void {
    this.#queue.add(image);
  }

  /** Checks every configured image. @returns number of builds started */
  considerAll(): number {
    return [...this.#context.config().diskimages.keys()].filter((image) => this.#queue.add(image)).length;
  }

  /** Forgets earlier failures after a changed configuration or a request by a person. */
  forgetFailures(image?: string): void {
    this.#backoffs.clear(image);
  }

  /** Starts no more builds; resolves when those in progress have ended. */
  async drain(): Promise<void> {
    const builds = [...this.#running.keys()];
    if (builds.length > 0) this.#context.logger.info('Waiting for builds to end', { builds });
    await this.#queue.stop();
  }

  /** Aborts builds in progress. */
  abort(): void {
    this.#stop.abort(new Error('the builder stops'));
    void this.#queue.stop();
  }

  #decide(name: string): Step | undefined {
    const { tree, holdsId, config } = this.#context;
    if (!tree.ready || !holdsId()) return undefined;
    this.#waiting.delete(name);
    const image = config().diskimages.get(name);
    if (!image) {
      this.#blocked.delete(name);
      return undefined;
    }
    const verdict = this.#judge(image);
    if (!verdict.build) return this.#later(name, verdict);
    if (this.#running.size < this.#workers) return { run: () => this.#run(name) };
    this.#waiting.add(name);
    this.#waitFor(name, 'WorkersBusy', this.#busyWorkers());
    this.#status.set(name, this.#busyWorkers());
    return undefined;
  }

  #busyWorkers(): string {
    const busy = `${this.#workers === 1 ? 'the only build worker is' : `all ${this.#workers} build workers are`} busy`;
    return `${busy} with ${[...this.#running.keys()].join(', ')} (see --build-workers)`;
  }

  /** Notes that a build is due and cannot start. @param reason - without times, so that it changes only with its cause */
  #waitFor(image: string, cause: WaitingBuild['cause'], reason: string): void {
    const known = this.#blocked.get(image);
    if (known?.reason === reason) return;
    this.#blocked.set(image, { image, cause, reason, sinceMs: known?.sinceMs ?? this.#context.clock.now() });
    this.#context.activityChanged();
  }

  #judge(image: DiskimageConfig): BuildVerdict {
    const { tree, clock, hostname, absent } = this.#context;
    const entry = tree.images.get(image.name);
    const absentSinceMs = absent.sinceMs(readyBuilds(entry)[0]);
    const situation = { entry, nowMs: clock.now(), hostname, absentSinceMs };
    const verdict = judgeBuild(this.#context.config(), image, situation);
    const pausedUntilMs = this.#backoffs.until(image.name);
    if (!verdict.build || pausedUntilMs === undefined) return verdict;
    const { reason = '', sinceMs = 0 } = this.#backoffs.get(image.name) ?? {};
    if (verdict.why === 'requested' && (entry?.buildRequestedMs ?? 0) > sinceMs) return verdict;
    const seconds = Math.ceil((pausedUntilMs - clock.now()) / 1_000);
    const why = `${reason}; next try in ${seconds} s`;
    return { build: false, why, againMs: pausedUntilMs, isWanted: true };
  }

  /** Looks at the image again when the verdict may change. */
  #later(image: string, verdict: Extract<BuildVerdict, { build: false }>): Step | undefined {
    if (verdict.isWanted !== true) this.#blocked.delete(image);
    this.#status.set(image, verdict.why);
    if (verdict.againMs === undefined) return undefined;
    const afterMs = Math.min(LONGEST_WAIT_MS, Math.max(1, verdict.againMs - this.#context.clock.now()));
    return { run: () => Promise.resolve(), afterMs };
  }

  async #run(name: string): Promise<void> {
    this.#running.set(name, undefined);
    try {
      await this.#build(name);
    } finally {
      this.#running.delete(name);
      this.#context.workEnded();
      for (const image of [...this.#waiting, name]) this.#queue.add(image);
    }
  }

  #failed(image: string, error: unknown): undefined {
    this.#context.logger.error('Failed to start build', { image, error });
    const reason = error instanceof Error ? error.message : String(error);
    this.#backoffs.failed(image, reason);
    this.#waitFor(image, 'Error', reason);
  }

  async #build(name: string): Promise<void> {
    const { config, tree, zk, clock, space, logger } = this.#context;
    const shortage = await space.shortage(name);
    if (shortage !== undefined) {
      logger.warn('Not starting build: insufficient disk space', { image: name, reason: shortage });
      this.#backoffs.hold(name, shortage);
      this.#waitFor(name, 'NoSpace', shortage);
      return;
    }
    const lock = await ImageLock.take({ zk, clock, logger }, name);
    if (!lock) return this.#leaveToOther(name);
    try {
      await tree.settle();
      const request = await zk.exists(imageBuildRequestPath(name));
      // Judged again under the lock: records, configuration and request may have changed meanwhile.
      const image = config().diskimages.get(name);
      if (!image) return;
      const verdict = this.#judge(image);
      if (!verdict.build || (verdict.why === 'requested' && !request)) return;
      const outcome = await buildImage(this.#context, {
        image,
        formats: verdict.formats,
        why: verdict.why,
        progress: (progress) => this.#progressed(name, progress),
        signal: this.#stop.signal,
        wasLockLost: () => lock.wasLost,
      });
      if (outcome.result === 'failed') this.#backoffs.failed(name, outcome.reason);
      else {
        this.#backoffs.clear(name);
        if (request) await removeBuildRequest(zk, name, request);
      }
    } finally {
      await lock.release();
    }
  }

  #progressed(image: string, progress: Progress): void {
    if (!this.#running.has(image)) return;
    this.#running.set(image, progress);
    this.#blocked.delete(image);
    this.#context.activityChanged();
  }

  async #leaveToOther(image: string): Promise<void> {
    this.#blocked.delete(image);
    this.#backoffs.hold(image, 'another builder builds it');
    await whenReleased(this.#context, imageBuildLockPath(image), () => {
      this.#backoffs.endHold(image);
      this.consider(image);
    });
  }
}
