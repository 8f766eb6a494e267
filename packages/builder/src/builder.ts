import {
  ImageTree,
  newComponent,
  steadyNow,
  withComponent,
  type BuildRecord,
  type ComponentRecord,
  type ConnectionState,
  type ImageChange,
} from '@nodepool/zk-protocol';
import type { Config, Logger } from '@nodepool/core';
import { Registration, type UnrecordedResources } from '@nodepool/core/launcher';
import { lastBuildMs, unfinishedAfter, readyBuilds } from '@nodepool/core/service';
import { ActivityReport, describeActivity, type FailuresOf } from './activity.js';
import { STORING } from './build/build-image.js';
import { Builds, type BuildStatus } from './build/build-queue.js';
import { failedToImageWork, type FailedWork } from './context/failed-work.js';
import { ImagesDatabase, type DatabaseProblem } from './context/images-database.js';
import { removeLeftovers } from './tool/leftovers.js';
import { BuilderIdLock, type IdProblem } from './context/unique-builder.js';
import type { ImageWork } from '@nodepool/core/service';
import { unbuiltImages, waitingRecords, type WaitingWork } from './plan/waiting-records.js';
import { toImageWork, waitingToWork, type Progress } from './context/progress.js';
import { Janitor } from './janitor/janitor.js';
import type { BuilderContext } from './context/builder-context.js';
import type { BuilderOptions } from './options.js';
import { prepareContext, warnOfPrograms } from './prepare-context.js';
import { Uploads } from './upload/upload-queue.js';

/** Interval of sweeps, which find changes whose events were missed. */
const SWEEP_MS = 60_000;
/** Share of the drain timeout reserved for aborting builds and storing their end. */
const ABORT_MS = 3_000;
const ENDING_MS = 1_000;
/** Time for builds to remove temporary files, and for clouds to remove partial uploads. */
const CLEANING_MS = 60_000;

/** Parts of a started builder. */
interface BuilderParts {
  readonly builds: Builds;
  readonly uploads: Uploads;
  readonly janitor: Janitor;
  readonly context: BuilderContext;
}

/** Builds disk images, uploads them, and removes old ones. */
export class Builder {
  readonly #options: BuilderOptions;
  readonly #tree: ImageTree;
  /** Its entry in the registry. */
  readonly registration: Registration<ReturnType<typeof newComponent>>;
  #config: Config;
  #parts: BuilderParts | undefined;
  #cancelSweep: (() => void) | undefined;
  #id: BuilderIdLock | undefined;
  #database: ImagesDatabase | undefined;
  readonly #imageListeners = new Set<(image: string) => void>();
  #stopping = false;
  readonly #report = new ActivityReport(() => {
    const failuresOf = (image: string, provider: string) => this.#parts?.uploads.failuresOf(image, provider) ?? 0;
    if (!this.#stopping) reportActivity(this, this.#options, failuresOf);
  });

  constructor(options: BuilderOptions) {
    const { zk, clock, logger, config, hostname, version } = options;
    this.#options = options;
    this.#config = config;
    this.#tree = new ImageTree({
      ...{ zk, clock, logger },
      changed: (image, change) => this.#onChange(image, change),
      refreshed: () => this.#lookAtAll(),
    });
    const kind = { kind: 'builder', hostname: hostname.split('.')[0] ?? hostname, version };
    this.registration = new Registration(zk, newComponent({ ...kind, state: 'initializing' }), logger);
  }

  /** Names of parts that are not ready, for operators; empty when ready. */
  get notReady(): readonly string[] {
    const missing: string[] = [];
    if (this.#options.zk.state !== 'CONNECTED') missing.push('no connection to ZooKeeper');
    if (!this.#parts) missing.push('builder is starting');
    else if (!this.#tree.ready) missing.push('images are not known');
    if (this.idProblem) missing.push('another builder may have its id');
    if (this.databaseProblem) missing.push('images-dir belongs to another database, or a newer one');
    return missing;
  }

  /** Why another builder may have the same id, if that happened after the start. */
  get idProblem(): IdProblem | undefined {
    return this.#parts && this.#id?.problem;
  }

  /** Why the files in `images-dir` do not belong to the database, if they do not. */
  get databaseProblem(): DatabaseProblem | undefined {
    return this.#database?.problem;
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#config;
  }

  /** Lasting id of the builder; `undefined` before it has started. */
  get id(): string | undefined {
    return this.#parts?.context.builderId;
  }

  /** Id of the database; `undefined` before it has been read. */
  get databaseId(): string | undefined {
    return this.#database?.id;
  }

  get tree(): ImageTree {
    return this.#tree;
  }

  /** Calls the listener when an image, build or upload changed. @returns unsubscribes */
  onImageChange(listener: (image: string) => void): () => void {
    this.#imageListeners.add(listener);
    return () => this.#imageListeners.delete(listener);
  }

  /** Builds and uploads in progress. */
  get running(): { readonly builds: readonly Progress[]; readonly uploads: readonly Progress[] } {
    return { builds: this.#parts?.builds.running ?? [], uploads: this.#parts?.uploads.running ?? [] };
  }

  /** Work in progress in the form of listings. */
  get work(): ImageWork[] {
    return workOf(this, this.#options, this.#parts?.builds.failing ?? []);
  }

  /** Status of the build of an image. */
  status(image: string): BuildStatus {
    return this.#parts?.builds.status(image) ?? { waits: 'builder is starting' };
  }

  /** Builds and uploads that cannot start, and builds that cannot be removed, with reasons. */
  get waiting(): readonly WaitingWork[] {
    const { builds, uploads } = this.#parts ?? {};
    const recorded = waitingRecords(this.#config, this.#tree.images);
    return [...(builds?.waiting ?? []), ...(uploads?.missing ?? []), ...recorded];
  }

  /** Providers that could not be created, and why. */
  get failedProviders(): readonly (readonly [string, Error])[] {
    return [...(this.#parts?.context.providers.failed ?? [])];
  }

  /** Failed uploads that will be retried. */
  get failingUploads(): Uploads['failing'] {
    return this.#parts?.uploads.failing ?? [];
  }

  /** Deletions that keep failing. */
  get failingDeletions(): Janitor['failing'] {
    return this.#parts?.janitor.failing ?? [];
  }

  /** Images in the clouds without a record: leaked ones, and those that may belong to another database. */
  get unrecorded(): UnrecordedResources | undefined {
    return this.#parts?.janitor.unrecorded;
  }

  /**
   * Resolves when builds and uploads are managed.
   * @param webUrl - URL of its web server, stored in the registry; default: none
   * @throws ConfigError without a usable `images-dir`, or if another builder with the same id is running
   */
  async start(webUrl?: string): Promise<void> {
    const { zk, logger } = this.#options;
    const context = await this.#context();
    this.#database = new ImagesDatabase(context, () => this.#lookAtAll());
    await this.#database.check();
    await context.providers.reconfigure(this.#config);
    const parts = partsOf(context, this.#options);
    this.#id = new BuilderIdLock(context, () => this.#lookAtAll());
    await this.#id.take();
    await this.#tree.start();
    await this.#id.refuseOthers(this.#tree);
    await removeLeftovers(context.tmpRoot, logger);
    await this.registration.register();
    this.#parts = parts;
    zk.onState((state) => registerAgain(state, this.registration, logger));
    this.registration.update(runningComponent(this.registration.body, context, webUrl));
    logger.info('Builder started', { builder: context.builderId, images: [...this.#config.diskimages.keys()] });
    void this.#sweep(true);
  }

  /** Applies a changed configuration. Builds and uploads in progress continue with the old one. */
  async reconfigure(config: Config): Promise<void> {
    if (config.imagesDir !== this.#config.imagesDir || config.buildLogDir !== this.#config.buildLogDir) {
      this.#options.logger.warn('Changed images-dir or build-log-dir takes effect after a restart');
    }
    this.#config = config;
    if (!this.#parts) return;
    const { builds, uploads, context } = this.#parts;
    warnOfPrograms(config, this.#options.logger);
    await context.providers.reconfigure(config);
    for (const failing of [builds, uploads]) failing.forgetFailures();
    this.#lookAtAll();
  }

  /**
   * Starts no new work. Lets builds finish within the deadline; aborts uploads and removes their images from the clouds.
   * @param limitMs - `Infinity`: builds end by their `build-timeout`
   */
  async drain(limitMs: number): Promise<void> {
    this.#stopping = true;
    this.#cancelSweep?.();
    if (!this.#parts) return;
    const { builds, uploads, janitor } = this.#parts;
    const deadlineMs = Math.min(limitMs, builds.longestMs + CLEANING_MS);
    const cancel = this.#options.clock.setTimer(deadlineMs - Math.min(ABORT_MS, deadlineMs / 2), () => builds.abort());
    const work = { builds: builds.drain(), uploads: uploads.stop(), deletions: janitor.stop() };
    await endWithin(this.#options, deadlineMs, work, () => builds.running.some(({ phase }) => phase !== STORING));
    cancel();
  }

  /** Stops without waiting for work in progress. */
  async stop(): Promise<void> {
    this.#parts?.builds.abort();
    this.#database?.stop();
    await this.drain(ABORT_MS);
    this.#tree.stop();
    const providers = this.#parts?.context.providers.stop() ?? Promise.resolve();
    const id = this.#id?.release() ?? Promise.resolve();
    const registration = this.registration.remove();
    await endWithin(this.#options, ENDING_MS, { providers, 'the registration': registration, 'the id': id });
  }

  /** After `stop`: resolves when all work has ended and nothing more is written, without a time limit. */
  async join(): Promise<void> {
    if (!this.#parts) return;
    const { builds, uploads, janitor, context } = this.#parts;
    await Promise.all([builds.drain(), uploads.stop(), janitor.stop(), context.providers.stop()]);
  }

  #context(): Promise<BuilderContext> {
    return prepareContext(this.#options, {
      tree: this.#tree,
      config: () => this.#config,
      databaseId: () => this.databaseId,
      holdsId: () => this.#id?.held === true && this.#database?.isOwn === true,
      ownsFiles: async () => (await this.#database?.check()) === true,
      noteBuild: async () => this.#database?.noteBuild(),
      activityChanged: () => this.#report.soon(),
      workEnded: () => {
        this.#report.soon();
        if (this.#mayBegin) this.#parts?.janitor.clean();
      },
    });
  }

  #onChange(image: string, { what }: ImageChange): void {
    for (const listener of this.#imageListeners) listener(image);
    if (!this.#parts || !this.#mayBegin || !this.#tree.ready) return;
    const { builds, uploads, janitor } = this.#parts;
    this.#report.soon();
    if (what === 'build-request') for (const failing of [builds, uploads]) failing.forgetFailures(image);
    if (what !== 'upload' && what !== 'upload-lock') builds.consider(image);
    if (what === 'build' || what === 'upload' || what === 'build-request') uploads.consider();
    if (what === 'build' || what === 'upload' || what.endsWith('-lock')) janitor.clean();
  }

  /** Whether it is not stopping, and no other builder and no other database may have its files. */
  get #mayBegin(): boolean {
    return !this.#stopping && this.#parts?.context.holdsId() === true;
  }

  #lookAtAll(): void {
    if (!this.#parts || !this.#mayBegin) return;
    this.#report.soon();
    const { builds, uploads, janitor } = this.#parts;
    builds.considerAll();
    uploads.consider();
    janitor.clean();
  }

  /** Finds changes whose watch events were missed, and reports them. */
  async #sweep(isFirst = false): Promise<void> {
    const { clock, events } = this.#options;
    if (!this.#parts || this.#stopping) return;
    const { builds, uploads, janitor, context } = this.#parts;
    this.#cancelSweep = clock.setTimer(SWEEP_MS, () => void this.#sweep());
    await this.#database?.recheck();
    await this.#id?.lookForOthers(this.#tree, (buildId) => isBuilding(builds, buildId));
    await context.absent.look(newestBuilds(this.#tree.images));
    if (!this.#mayBegin) return;
    if (builds.considerAll() > 0 && !isFirst) events.sweepFound('build');
    uploads.consider(!isFirst);
    janitor.clean(!isFirst);
    await janitor.findLeaks();
    this.#report.soon();
  }
}

/** Reports the activity of each image to the metrics. */
function reportActivity(
  { config, tree, running }: Builder,
  { events, buildWorkers, uploadWorkers }: BuilderOptions,
  failuresOf: FailuresOf,
): void {
  const load = { builds: running.builds.length, uploads: running.uploads.length, buildWorkers, uploadWorkers };
  events.imagesChanged(describeActivity(config, tree, running, failuresOf), load);
}

/** The entry in the registry, with the id by which other builders know whose builds these are. */
function runningComponent(body: ComponentRecord, { builderId }: BuilderContext, webUrl = null as string | null) {
  const running = withComponent(body, { state: 'running', webUrl });
  return { ...running, raw: { ...running.raw, builder_id: builderId } };
}

const newestBuilds = (images: ImageTree['images']): BuildRecord[] =>
  [...images.values()].flatMap((entry) => readyBuilds(entry).slice(0, 1));

const isBuilding = ({ running }: Builds, buildId: string): boolean =>
  running.some((progress) => progress.buildId === buildId);

function partsOf(
  context: BuilderContext,
  { buildWorkers, uploadWorkers }: Pick<BuilderOptions, 'buildWorkers' | 'uploadWorkers'>,
): BuilderParts {
  const builds = new Builds(context, buildWorkers);
  const uploads = new Uploads(context, uploadWorkers);
  const isInUse = (buildId: string) => uploads.isReading(buildId) || isBuilding(builds, buildId);
  return { builds, uploads, janitor: new Janitor(context, { isInUse }), context };
}

function registerAgain(state: ConnectionState, registration: { register(): Promise<void> }, logger: Logger): void {
  if (state !== 'CONNECTED') return;
  registration.register().catch((error: unknown) => {
    logger.warn('Failed to register the builder; retrying in the next session', { error });
  });
}

/**
 * Waits with a time limit, and not for ZooKeeper: while it is away, only builds can still end. Logs unfinished work, which is cleaned
 * up after the next start.
 */
async function endWithin(
  { clock, zk, logger }: Pick<BuilderOptions, 'clock' | 'zk' | 'logger'>,
  limitMs: number,
  work: Readonly<Record<string, Promise<unknown>>>,
  isBuilding: () => boolean = () => false,
): Promise<void> {
  const tasks = new Map(Object.entries(work));
  const endMs = steadyNow(clock) + limitMs;
  for (let wasAway = false, leftMs = limitMs; ; leftMs = endMs - steadyNow(clock)) {
    const unfinished = await unfinishedAfter(Math.min(leftMs, ABORT_MS), clock, tasks);
    if (unfinished.length === 0) return;
    const isAway = zk.state !== 'CONNECTED';
    if (leftMs <= ABORT_MS || (isAway && wasAway && !isBuilding())) {
      const zookeeper = isAway ? 'away' : 'connected';
      logger.warn('Timed out waiting for work to end; it is cleaned up after the next start', {
        unfinished,
        zookeeper,
      });
      return;
    }
    wasAway = isAway;
  }
}

function workOf(
  builder: Builder,
  { hostname, clock }: BuilderOptions,
  failedBuilds: readonly FailedWork[],
): ImageWork[] {
  const { builds, uploads } = builder.running;
  const nowMs = clock.now();
  const expectedMs = (image: string) => lastBuildMs(builder.tree.images.get(image));
  const running = [...builds, ...uploads].map((progress) =>
    toImageWork(progress, hostname, nowMs, expectedMs(progress.image)),
  );
  const failed = [...failedBuilds, ...builder.failingUploads].map((one) => failedToImageWork(one, hostname, nowMs));
  const unbuilt = unbuiltImages(builder.config, (builder.databaseProblem ?? builder.idProblem)?.message, nowMs);
  const waiting = [...unbuilt, ...builder.waiting].map((one) => waitingToWork(one, hostname, nowMs));
  return [...running, ...failed, ...waiting];
}

/** Describes the work of a builder as lines for the log. */
export function linesOf(builder: Builder): string[] {
  const { builds, uploads } = builder.running;
  const images = [...builder.config.diskimages.keys()];
  return [
    `not ready: ${builder.notReady.join(', ') || 'nothing'}`,
    ...builds.map((progress) => `build ${JSON.stringify(progress)}`),
    ...uploads.map((progress) => `upload ${JSON.stringify(progress)}`),
    ...builder.waiting.map((waiting) => `waits ${JSON.stringify(waiting)}`),
    ...builder.failingUploads.map((failing) => `failed upload ${JSON.stringify(failing)}`),
    ...builder.failingDeletions.map((failing) => `deletion ${JSON.stringify(failing)}`),
    ...images.map((image) => `image ${image} ${JSON.stringify(builder.status(image))}`),
  ];
}
