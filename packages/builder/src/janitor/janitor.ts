import { setMaxListeners } from 'node:events';
import { buildPath, type ImageEntry } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import type { UnrecordedResources } from '@nodepool/core/launcher';
import { WorkQueue, type Step } from '@nodepool/core/service';
import { Backoffs } from '../context/backoffs.js';
import type { BuilderContext } from '../context/builder-context.js';
import { planCleanup, type CleanupStep } from '../plan/plan-cleanup.js';
import { listBuildFiles, removeBuildFiles, removeFormat, type BuildFiles } from '../files/image-files.js';
import { isListedUnserved } from '../plan/unserved-images.js';
import { Cleaner } from './cleaner.js';
import { LeakedUploads } from './leaked-uploads.js';

const RETRY = { firstMs: 10_000, longestMs: 1_800_000 };

/** Questions of the janitor to the rest of the builder. */
export interface JanitorHost {
  /** Whether this builder is making the build or uploading its files. */
  isInUse(buildId: string): boolean;
}

/** What does not wait for a cloud is done in a lane of this name. */
const HERE = '';

/**
 * Removes old images in clouds, old records in ZooKeeper, and old files of this builder. Works on each provider separately, so
 * that a slow one delays no other.
 */
export class Janitor {
  readonly #context: BuilderContext;
  readonly #host: JanitorHost;
  readonly #cleaner: Cleaner;
  readonly #leaks: LeakedUploads;
  readonly #backoffs: Backoffs;
  readonly #failing = new Map<string, { attempts: number; error: string }>();
  readonly #stop = new AbortController();
  /** By provider, and {@link HERE}. */
  readonly #queue: WorkQueue<string>;
  /** Whether what is looked at now was not announced by an event. */
  #isSweep = false;
  readonly #looks = new Set<Promise<void>>();

  constructor(context: BuilderContext, host: JanitorHost) {
    this.#context = context;
    this.#host = host;
    this.#cleaner = new Cleaner(context, { isInUse: (id) => host.isInUse(id), signal: this.#stop.signal });
    this.#leaks = new LeakedUploads(context, this.#stop.signal);
    this.#backoffs = new Backoffs(context, RETRY);
    this.#queue = new WorkQueue(context, {
      decide: (lane) => this.#decide(lane),
      failed: (lane, error) => void context.logger.error('Failed to remove old images', { provider: lane, error }),
    });
    setMaxListeners(0, this.#stop.signal); // one for each call to a provider: all are looked at for leaks at once
  }

  /** Images in the clouds without a record. */
  get unrecorded(): UnrecordedResources {
    return this.#leaks;
  }

  /** Deletions that keep failing, with the errors. */
  get failing(): readonly { readonly name: string; readonly attempts: number; readonly error: string }[] {
    return [...this.#failing].map(([name, failure]) => ({ name, ...failure }));
  }

  /**
   * Removes everything that is no longer needed. A provider that is still being cleaned is checked again afterwards.
   * @param isSweep - no change is known: work found now was missed by an event and is counted
   */
  clean(isSweep = false): void {
    this.#isSweep = isSweep;
    this.#queue.add(HERE);
    for (const { name, images } of this.#context.config().providers.values()) if (images) this.#queue.add(name);
    this.#isSweep = false;
  }

  /** Searches the clouds for images without a record and removes those seen twice. Never rejects. */
  async findLeaks(): Promise<void> {
    if (this.#stop.signal.aborted || !this.#context.tree.ready) return;
    const look = this.#leaks.look().finally(() => this.#looks.delete(look));
    this.#looks.add(look);
    await look;
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the builder stops'));
    await Promise.all([this.#queue.stop(), ...this.#looks]);
  }

  #decide(lane: string): Step | undefined {
    const { tree, holdsId } = this.#context;
    if (!tree.ready || !holdsId()) return undefined;
    const isSweep = this.#isSweep;
    return { run: () => this.#work(lane, isSweep) };
  }

  async #work(lane: string, isSweep: boolean): Promise<void> {
    for (const step of this.#plan().filter((each) => laneOf(each) === lane)) {
      if (!this.#isStillNeeded(step)) continue;
      const isDue = this.#isDueByTime(step);
      if ((await this.#try(step)) && isSweep && !isDue) this.#context.events.sweepFound('cleanup');
    }
    if (lane === HERE) await this.#cleanFiles();
  }

  /** Whether the step became due with time: a failed build is old enough, or a failed deletion is retried. */
  #isDueByTime(step: CleanupStep): boolean {
    return ('build' in step && step.build.state === 'failed') || this.#backoffs.get(nameOf(step)) !== undefined;
  }

  /** Whether the step is still planned: an older image may have come into service again while others were deleted. */
  #isStillNeeded(step: CleanupStep): boolean {
    const { tree, config, clock } = this.#context;
    const entry = tree.images.get('build' in step ? step.build.image : step.upload.image);
    const steps = entry ? planCleanup(config(), entry, clock.now()) : [];
    return steps.some((other) => other.step === step.step && nameOf(other) === nameOf(step));
  }

  #plan(): CleanupStep[] {
    const { tree, config, clock } = this.#context;
    const steps = [...tree.images.values()].flatMap((entry) => planCleanup(config(), entry, clock.now()));
    const names = new Set(steps.map(nameOf));
    for (const name of this.#failing.keys()) if (!names.has(name)) this.#failing.delete(name);
    return steps;
  }

  async #cleanFiles(): Promise<void> {
    const { logger, imagesDir } = this.#context;
    try {
      await cleanLocalFiles(this.#context, (buildId) => this.#host.isInUse(buildId));
    } catch (error) {
      logger.error('Failed to clean the images directory', { directory: imagesDir, error });
    }
  }

  /** @returns whether something was removed */
  async #try(step: CleanupStep): Promise<boolean> {
    const name = nameOf(step);
    if (this.#stop.signal.aborted || this.#backoffs.until(name) !== undefined) return false;
    try {
      const isDone = await this.#cleaner.take(step);
      this.#backoffs.clear(name);
      this.#failing.delete(name);
      return isDone;
    } catch (error) {
      if (this.#stop.signal.aborted) return false;
      const message = error instanceof Error ? error.message : String(error);
      this.#context.logger.error('Failed to remove an old build or upload', { what: name, error });
      this.#backoffs.failed(name, message);
      this.#failing.set(name, { attempts: (this.#failing.get(name)?.attempts ?? 0) + 1, error: message });
      return false;
    }
  }
}

function laneOf(step: CleanupStep): string {
  return 'upload' in step ? step.upload.provider : HERE;
}

function nameOf(step: CleanupStep): string {
  if ('build' in step) return `${step.build.image}/${step.build.id}`;
  const { image, buildId, provider, id } = step.upload;
  return `${image}/${buildId}/${provider}/${id}`;
}

/**
 * Removes files of deleted builds, and with `delete-after-upload` the formats that every provider has. Keeps the files of a
 * build in use.
 */
async function cleanLocalFiles(context: BuilderContext, isInUse: (buildId: string) => boolean): Promise<void> {
  const { imagesDir, tree, logger, ownsFiles } = context;
  for (const files of (await listBuildFiles(imagesDir)).values()) {
    if (isInUse(files.buildId)) continue;
    const entry = tree.images.get(files.image);
    const build = entry?.builds.get(files.buildId);
    if (!build && (await isRecorded(context, files))) continue;
    if (!build || build.state === 'deleting' || build.state === 'failed') {
      if (!(await ownsFiles())) return;
      logger.info('Removing files of a deleted build', { image: files.image, build: files.buildId });
      await removeBuildFiles(imagesDir, files);
    } else if (entry && build.state === 'ready') {
      for (const format of superfluousFormats(context.config(), entry, files))
        await removeFormat(imagesDir, files, format);
    }
  }
}

/** Whether there is a record that is not cached yet or cannot be decoded; then the files stay. */
async function isRecorded({ zk }: BuilderContext, { image, buildId }: BuildFiles): Promise<boolean> {
  return (await zk.exists(buildPath(image, buildId))) !== undefined;
}

/** Formats that are no longer needed on disk: none while the image is for a provider whose format is not known. */
export function superfluousFormats(config: Config, entry: ImageEntry, files: BuildFiles): string[] {
  const image = config.diskimages.get(entry.name);
  if (!image?.deleteAfterUpload || isListedUnserved(config, entry.name)) return [];
  const needed = new Set(image.keepFormats);
  for (const { name, images } of config.providers.values()) {
    if (!images?.diskimages.has(entry.name)) continue;
    const isThere = [...entry.uploads.values()].some(
      ({ buildId, provider, state }) => buildId === files.buildId && provider === name && state === 'ready',
    );
    if (!isThere) needed.add(images.format);
  }
  return [...files.formats].filter((format) => !needed.has(format));
}
