import { setMaxListeners } from 'node:events';
import { isNodepoolError } from '@nodepool/core';
import { WorkQueue, type Step } from '@nodepool/core/service';
import { uploadLockPath, uploadsPath, ZkLock, type BuildRecord } from '@nodepool/zk-protocol';
import { Backoffs } from '../context/backoffs.js';
import type { FailedWork } from '../context/failed-work.js';
import { whenReleased } from '../context/when-released.js';
import type { Progress } from '../context/progress.js';
import { imageBase, imageFile, listBuildFiles, stampOf } from '../files/image-files.js';
import {
  begunUpload,
  missingFiles,
  planUploads,
  type LocalBuilds,
  type MissingFile,
  type PlannedUpload,
} from '../plan/plan-uploads.js';
import type { BuilderContext } from '../context/builder-context.js';
import { uploadImage } from './upload-image.js';

/** All uploads are planned at once. */
const ALL = '';
const RETRY = { firstMs: 10_000, longestMs: 1_800_000 };

const keyOf = ({ provider, build }: PlannedUpload): string => keyFor(provider, build.image);
const keyFor = (provider: string, image: string): string => JSON.stringify([provider, image]);

/** Uploads builds: as many at a time as there are workers, providers in turn, with separate pauses after failures. */
export class Uploads {
  readonly #context: BuilderContext;
  readonly #workers: number;
  readonly #backoffs: Backoffs;
  readonly #running = new Map<
    string,
    { readonly provider: string; readonly buildId: string; progress?: Progress; readonly ended: Promise<void> }
  >();
  readonly #failed = new Map<string, PlannedUpload>();
  /** Files that differ from their build, by path. They are read again once they change. */
  readonly #damaged = new Map<string, { readonly base: string; readonly stamp: string; readonly how: string }>();
  #missing: readonly (MissingFile & { readonly sinceMs: number })[] = [];
  readonly #stop = new AbortController();
  readonly #queue: WorkQueue<string>;
  /** Whether no event announced what is looked at now. */
  #isSweep = false;
  #cancelRetry: (() => void) | undefined;

  constructor(context: BuilderContext, workers: number) {
    this.#context = context;
    this.#workers = workers;
    this.#backoffs = new Backoffs(context, RETRY);
    this.#queue = new WorkQueue(context, {
      decide: () => this.#decide(),
      failed: (_, error) => void context.logger.error('Failed to search for images to upload', { error }),
    });
    setMaxListeners(0, this.#stop.signal); // one for each call that begins to use a provider
  }

  /** Uploads that occupy a worker. */
  get #busy(): number {
    return [...this.#running.values()].filter(({ progress }) => progress?.isIdle !== true).length;
  }

  /** Uploads in progress. */
  get running(): readonly Progress[] {
    return [...this.#running.values()].flatMap(({ progress }) => (progress ? [progress] : []));
  }

  /** Uploads that have failed at least once since the last good one, are still wanted, and are not in progress. */
  get failing(): readonly (FailedWork & { readonly provider: string })[] {
    return [...this.#failed.values()].flatMap(({ provider, build }) => {
      if (this.#running.has(keyFor(provider, build.image))) return [];
      const pause = this.#backoffs.get(keyFor(provider, build.image));
      if (!pause || pause.attempts === 0) return [];
      const { attempts, reason: error, sinceMs: failedMs, untilMs: nextTryMs } = pause;
      return [{ image: build.image, buildId: build.id, provider, attempts, error, failedMs, nextTryMs }];
    });
  }

  /** Uploads that wait for a new build, as the files of the present one are gone. */
  get missing(): readonly (MissingFile & { readonly sinceMs: number })[] {
    return this.#missing;
  }

  /** Number of failed uploads of an image to a provider since the last successful one. */
  failuresOf(image: string, provider: string): number {
    const key = keyFor(provider, image);
    return this.#failed.has(key) ? (this.#backoffs.get(key)?.attempts ?? 0) : 0;
  }

  /** Builds whose files must stay for now. */
  isReading(buildId: string): boolean {
    return [...this.#running.values()].some((running) => running.buildId === buildId);
  }

  /**
   * Checks for due uploads after a change.
   * @param isSweep - no change is known: an upload that begins now was missed by an event and is counted
   */
  consider(isSweep = false): void {
    this.#isSweep = isSweep;
    this.#queue.add(ALL);
    this.#isSweep = false;
  }

  /** Forgets earlier failures after a changed configuration, or of one image after a request by a person. */
  forgetFailures(image?: string): void {
    if (image === undefined) this.#backoffs.clear();
    for (const [key, { build }] of this.#failed) {
      if (image !== undefined && build.image !== image) continue;
      this.#backoffs.clear(key);
      this.#failed.delete(key);
    }
  }

  /** Aborts uploads in progress and removes their images from the cloud. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the builder stops'));
    this.#cancelRetry?.();
    await this.#queue.stop();
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #decide(): Step | undefined {
    const { tree, holdsId } = this.#context;
    if (!tree.ready || !holdsId()) return undefined;
    const isSweep = this.#isSweep;
    return { run: () => this.#begin(isSweep) };
  }

  async #begin(isSweep: boolean): Promise<void> {
    const { tree, clock, events } = this.#context;
    let isSome = false;
    const local = await this.#localBuilds();
    if (this.#stop.signal.aborted) return;
    await this.#findMissing(local);
    const planned = planUploads(this.#context.config(), tree.images, local);
    const wanted = new Set(planned.map(keyOf));
    for (const key of this.#failed.keys()) if (!wanted.has(key)) this.#failed.delete(key);
    let nextMs = Infinity;
    for (const upload of this.#inTurn(planned)) {
      if (this.#busy >= this.#workers) break;
      const pausedUntilMs = this.#backoffs.until(keyOf(upload));
      if (pausedUntilMs !== undefined) {
        nextMs = Math.min(nextMs, pausedUntilMs);
        continue;
      }
      this.#start(upload);
      isSome = true;
    }
    if (isSome && isSweep) events.sweepFound('upload');
    this.#cancelRetry?.();
    if (nextMs < Infinity) this.#cancelRetry = clock.setTimer(nextMs - clock.now(), () => this.consider());
  }

  /** Uploads that are not in progress, providers with the fewest uploads first. */
  #inTurn(planned: readonly PlannedUpload[]): PlannedUpload[] {
    const load = new Map<string, number>();
    for (const { provider } of this.#running.values()) load.set(provider, (load.get(provider) ?? 0) + 1);
    return planned
      .filter((upload) => !this.#running.has(keyOf(upload)))
      .sort((a, b) => (load.get(a.provider) ?? 0) - (load.get(b.provider) ?? 0));
  }

  async #localBuilds(): Promise<LocalBuilds> {
    const { imagesDir } = this.#context;
    const files = await listBuildFiles(imagesDir);
    for (const [path, { stamp }] of this.#damaged) if ((await stampOf(path)) !== stamp) this.#damaged.delete(path);
    return new Map(
      [...files].map(([base, { image, buildId, formats }]) => {
        const isUsable = (format: string) => !this.#damaged.has(imageFile(imagesDir, image, buildId, format));
        return [base, new Set([...formats].filter(isUsable))];
      }),
    );
  }

  /** A build that became ready after the files were listed is not missing: the files are listed once more. */
  async #findMissing(local: LocalBuilds): Promise<void> {
    const { config, tree, builderId, clock, logger, absent } = this.#context;
    const absentSinceMs = (build: BuildRecord) => absent.sinceMs(build);
    const find = (files: LocalBuilds) => {
      const damage = new Map([...this.#damaged.values()].map(({ base, how }) => [base, how]));
      return missingFiles(config(), tree.images, files, { builderId, nowMs: clock.now(), absentSinceMs, damage });
    };
    const found = find(local).length === 0 ? [] : find(await this.#localBuilds());
    const before = this.#missing;
    this.#missing = found.map((one) => {
      const known = before.find(({ provider, reason }) => provider === one.provider && reason === one.reason);
      if (!known) logger.warn('Image cannot be uploaded: its file is out of reach', { ...one, build: one.build.id });
      return { ...one, sinceMs: one.sinceMs ?? known?.sinceMs ?? clock.now() };
    });
  }

  #start(planned: PlannedUpload): void {
    const ended = this.#run(planned);
    this.#running.set(keyOf(planned), { provider: planned.provider, buildId: planned.build.id, ended });
  }

  async #run(planned: PlannedUpload): Promise<void> {
    const { build, format, convertFrom } = planned;
    const key = keyOf(planned);
    const path = imageFile(this.#context.imagesDir, build.image, build.id, convertFrom ?? format);
    const stamp = await stampOf(path);
    try {
      if (!(await this.#upload(planned))) return;
      this.#backoffs.clear(key);
      this.#failed.delete(key);
    } catch (error) {
      this.#noteFailure(planned, error, { path, stamp });
    } finally {
      this.#running.delete(key);
      this.#context.workEnded();
      this.consider();
    }
  }

  #noteFailure(planned: PlannedUpload, error: unknown, file: { path: string; stamp: string | undefined }): void {
    const { logger } = this.#context;
    const { provider, build } = planned;
    const fields = { provider, image: build.image, build: build.id };
    if (this.#stop.signal.aborted) return logger.info('Aborted upload: the builder stops', fields);
    logger.error('Upload failed', { ...fields, error });
    const how = error instanceof Error ? error.message : String(error);
    const { path, stamp } = file;
    if (isNodepoolError(error, 'NODEPOOL_IMAGE_FILE') && stamp !== undefined) {
      this.#damaged.set(path, { base: imageBase(build.image, build.id), stamp, how });
      this.#backoffs.clear(keyOf(planned));
    } else {
      this.#failed.set(keyOf(planned), planned);
      this.#backoffs.failed(keyOf(planned), how);
    }
  }

  /** @returns false when another builder uploads it, or has done so */
  async #upload(planned: PlannedUpload): Promise<boolean> {
    const { zk, clock, tree, providers } = this.#context;
    const { build, provider: name } = planned;
    const provider = await providers.use(name, this.#stop.signal);
    const settings = this.#context.config().providers.get(name)?.images;
    if (!provider || !settings) return false;
    await zk.ensurePath(uploadsPath(build.image, build.id, name));
    const lock = new ZkLock(zk, uploadLockPath(build.image, build.id, name), { clock });
    if (!(await lock.acquire({ blocking: false }))) {
      this.#backoffs.hold(keyOf(planned), 'another builder uploads it');
      const fields = { provider: name, image: build.image };
      this.#context.logger.info('Skipping upload: another builder uploads it', fields);
      await whenReleased(this.#context, uploadLockPath(build.image, build.id, name), () => {
        this.#backoffs.endHold(keyOf(planned));
        this.consider();
      });
      return false;
    }
    try {
      await tree.settle();
      const entry = tree.images.get(build.image);
      const done = [...(entry?.uploads.values() ?? [])].some(
        (upload) => upload.buildId === build.id && upload.provider === name && upload.state === 'ready',
      );
      if (done || entry?.builds.get(build.id)?.state !== 'ready') return false;
      await uploadImage(this.#context, {
        ...{ planned, provider, settings, begun: begunUpload(entry, planned), lost: lock.lost },
        progress: (progress) => {
          const running = this.#running.get(keyOf(planned));
          if (!running) return;
          running.progress = progress;
          this.#context.activityChanged();
        },
        signal: AbortSignal.any([this.#stop.signal, lock.lost]),
      });
      return true;
    } finally {
      await lock.release();
    }
  }
}
