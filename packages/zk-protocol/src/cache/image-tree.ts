import { isZooKeeperError } from '../client/contract/errors.js';
import type { ReadResult, Stat, WatchEvent, ZooKeeper } from '../client/contract/types.js';
import type { Clock } from '../base/clock.js';
import { isNodepoolError } from '../base/errors.js';
import { classifyPath, imageBuildLockPath, IMAGES_ROOT, uploadLockPath, type PathShape } from '../records/paths.js';
import { decodeBuild, decodePauseReason, decodeUpload } from '../records/image.js';
import type { BuildRecord, UploadRecord } from '../records/types.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import { isConnectionError } from './rebuild.js';
import { watch } from './tree-cache.js';

/** Stored state of one image. */
export interface ImageEntry {
  readonly name: string;
  /** True if an operator paused its builds. */
  readonly paused: boolean;
  /** Reason given by the operator. */
  readonly pauseReason?: string | undefined;
  /** Time of the build request, in ms since the epoch; `undefined` if there is none. */
  readonly buildRequestedMs: number | undefined;
  /** Keyed by build id. */
  readonly builds: ReadonlyMap<string, BuildRecord>;
  /** Keyed by path. */
  readonly uploads: ReadonlyMap<string, UploadRecord>;
}

/** Settings of an {@link ImageTree}. */
export interface ImageTreeOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
  /**
   * Called after each change of an image, including the locks of its builds and uploads. The tree already shows the
   * change.
   */
  readonly changed: (image: string, change: ImageChange) => void;
  /** Called when the tree is complete again after a reconnect. Some of the changes were not reported one by one. */
  readonly refreshed?: () => void;
}

/** Kind of a change. `provider` is set for uploads. */
export interface ImageChange {
  readonly what: 'image' | 'pause' | 'build-request' | 'build' | 'build-lock' | 'upload' | 'upload-lock';
  readonly provider?: string;
}

interface MutableEntry extends ImageEntry {
  paused: boolean;
  pauseReason: string | undefined;
  buildRequestedMs: number | undefined;
  readonly builds: Map<string, BuildRecord>;
  readonly uploads: Map<string, UploadRecord>;
}

type ImageShape = Extract<PathShape, { image: string }>;

const READS_AT_ONCE = 200;

/** Mirror of all images, builds and uploads, kept current by one recursive watch. They are few and change rarely. */
export class ImageTree {
  readonly #options: ImageTreeOptions;
  readonly #images = new Map<string, MutableEntry>();
  readonly #dirty = new Set<string>();
  /** The latest read of each path. An event removes the entry, as the reply to that read may be outdated. */
  readonly #reading = new Map<string, object>();
  #isReading = false;
  #rebuilds = 0;
  #readsInFlight = 0;
  #unsubscribe: (() => void) | undefined;
  #ready = false;

  constructor(options: ImageTreeOptions) {
    this.#options = options;
  }

  /** False while records may be missing, e.g. after the connection broke. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Keyed by name. */
  get images(): ReadonlyMap<string, ImageEntry> {
    return this.#images;
  }

  /** Number of changed records to be read (metric `event_queue`). */
  get eventQueue(): number {
    return this.#dirty.size;
  }

  /** Reads in flight (metric `playback_queue`). */
  get playbackQueue(): number {
    return this.#readsInFlight;
  }

  /** Reads all images and watches them; waits while there is no connection. Reads them again after each reconnect. */
  async start(): Promise<void> {
    const { zk } = this.#options;
    await watch(zk, IMAGES_ROOT, this.#onEvent);
    this.#unsubscribe = zk.onState((state) => {
      this.#ready = false;
      if (state === 'CONNECTED') void this.#refresh();
    });
    while (await this.#rebuild()) await zk.whenConnected();
  }

  /** Resolves when the tree shows every write, of any client, that was made before the call. */
  async settle(): Promise<void> {
    do await this.#options.zk.sync(IMAGES_ROOT);
    while (this.#dirty.size > 0 || this.#isReading || this.#rebuilds > 0);
  }

  stop(): void {
    const { zk, logger } = this.#options;
    this.#unsubscribe?.();
    this.#ready = false;
    zk.removeWatch(IMAGES_ROOT, this.#onEvent).catch((error: unknown) => {
      logger.debug('Failed to remove the watch on images; it ends with the session', { error });
    });
  }

  readonly #onEvent = (event: WatchEvent): void => {
    const shape = classifyPath(event.path);
    if ('image' in shape) {
      this.#reading.delete(event.path);
      if (event.type === 'deleted') this.#forget(event.path, shape);
      else this.#mark(event.path);
      return;
    }
    const lock = lockOfEntry(event.path);
    if (lock) this.#options.changed(lock.image, { what: lock.what });
  };

  async #refresh(): Promise<void> {
    await this.#rebuild();
    if (this.#ready) this.#options.refreshed?.();
  }

  /** @returns whether a lost connection ended it */
  async #rebuild(): Promise<boolean> {
    const { logger } = this.#options;
    this.#rebuilds += 1;
    try {
      // Known records that are not listed are read too: they may have been created after the listing.
      const found = await this.#findRecords();
      for (const path of [...found, ...pathsOf(this.#images.values())]) this.#dirty.add(path);
      await this.#readDirty();
      this.#ready = true;
      return false;
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      logger.debug('Reading images was interrupted; retrying after reconnect', { error });
      return isConnectionError(error);
    } finally {
      this.#rebuilds -= 1;
    }
  }

  /** Lists the tree one level at a time: images, builds, providers, uploads. */
  async #findRecords(): Promise<string[]> {
    const images = await this.#children([IMAGES_ROOT], '');
    const flags = await this.#children(images, '');
    const builds = await this.#children(images, '/builds');
    const providers = await this.#children(builds, '/providers');
    const uploads = await this.#children(providers, '/images');
    return [...images, ...flags, ...builds, ...uploads].filter((path) => 'image' in classifyPath(path));
  }

  /** Children of `<parent><below>` for each parent; none where that directory does not exist. */
  async #children(parents: readonly string[], below: string): Promise<string[]> {
    const paths = parents.map((parent) => `${parent}${below}`);
    const found: string[] = [];
    for (const result of await this.#readAll(paths, 'children')) {
      if (result.read === 'children') found.push(...result.children.map((child) => `${result.path}/${child}`));
      else if (result.read === 'error' && !isZooKeeperError(result.error, 'ZK_NO_NODE')) throw result.error;
    }
    return found;
  }

  async #readAll(paths: readonly string[], read: 'children' | 'data'): Promise<ReadResult[]> {
    const results: ReadResult[] = [];
    for (let at = 0; at < paths.length; at += READS_AT_ONCE) {
      const batch = paths.slice(at, at + READS_AT_ONCE).map((path) => ({ read, path }));
      this.#readsInFlight += batch.length;
      try {
        results.push(...(await this.#options.zk.multiRead(batch)));
      } finally {
        this.#readsInFlight -= batch.length;
      }
    }
    return results;
  }

  #mark(path: string): void {
    this.#dirty.add(path);
    if (this.#isReading) return;
    this.#isReading = true;
    void this.#readSoon();
  }

  /** Reads all paths that are marked in this turn of the event loop at once. */
  async #readSoon(): Promise<void> {
    try {
      await Promise.resolve();
      await this.#readDirty();
    } catch (error) {
      this.#options.logger.debug('Reading images was interrupted; reading all images after reconnect', { error });
    } finally {
      this.#isReading = false;
    }
  }

  async #readDirty(): Promise<void> {
    while (this.#dirty.size > 0) {
      const paths = [...this.#dirty];
      const read = {};
      this.#dirty.clear();
      for (const path of paths) this.#reading.set(path, read);
      for (const result of await this.#readAll(paths, 'data')) {
        if (this.#reading.get(result.path) !== read) continue;
        this.#reading.delete(result.path);
        const shape = classifyPath(result.path) as ImageShape;
        if (result.read === 'data') this.#apply(result.path, shape, result.data, result.stat);
        else this.#forget(result.path, shape);
      }
    }
  }

  #entry(image: string): MutableEntry {
    let entry = this.#images.get(image);
    if (!entry) {
      entry = {
        ...{ name: image, paused: false, pauseReason: undefined, buildRequestedMs: undefined },
        ...{ builds: new Map(), uploads: new Map() },
      };
      this.#images.set(image, entry);
    }
    return entry;
  }

  #apply(path: string, shape: ImageShape, body: Buffer, stat: Stat): void {
    try {
      if (this.#store(path, shape, body, stat)) this.#options.changed(shape.image, changeOf(shape));
      else this.#forget(path, shape);
    } catch (error) {
      if (!isNodepoolError(error)) throw error;
      this.#options.logger.warn('Ignored an image record that cannot be decoded', { path, error });
    }
  }

  /** @returns false for a record without a body */
  #store(path: string, shape: ImageShape, body: Buffer, stat: Stat): boolean {
    const entry = this.#entry(shape.image);
    const nowMs = this.#options.clock.now();
    switch (shape.shape) {
      case 'image':
        return true;
      case 'pause':
        entry.paused = true;
        entry.pauseReason = decodePauseReason(body);
        return true;
      case 'build-request':
        entry.buildRequestedMs = stat.mtime;
        return true;
      case 'build': {
        const build = decodeBuild({ image: shape.image, id: shape.buildId }, body, stat, nowMs);
        if (build) entry.builds.set(shape.buildId, build);
        return build !== undefined;
      }
      case 'upload': {
        const { image, buildId, provider, uploadId } = shape;
        const upload = decodeUpload({ image, buildId, provider, id: uploadId }, body, stat, nowMs);
        if (upload) entry.uploads.set(path, upload);
        return upload !== undefined;
      }
    }
  }

  #forget(path: string, shape: ImageShape): void {
    const entry = this.#images.get(shape.image);
    if (!entry || !this.#remove(path, shape, entry)) return;
    this.#options.changed(shape.image, changeOf(shape));
  }

  #remove(path: string, shape: ImageShape, entry: MutableEntry): boolean {
    switch (shape.shape) {
      case 'image':
        return this.#images.delete(shape.image);
      case 'pause': {
        const { paused } = entry;
        entry.paused = false;
        entry.pauseReason = undefined;
        return paused;
      }
      case 'build-request': {
        const { buildRequestedMs } = entry;
        entry.buildRequestedMs = undefined;
        return buildRequestedMs !== undefined;
      }
      case 'build':
        return entry.builds.delete(shape.buildId);
      case 'upload':
        return entry.uploads.delete(path);
    }
  }
}

function changeOf(shape: ImageShape): ImageChange {
  return shape.shape === 'upload' ? { what: 'upload', provider: shape.provider } : { what: shape.shape };
}

/** The lock to which a path, as its entry, belongs; `undefined` for any other path. */
function lockOfEntry(
  path: string,
): { readonly image: string; readonly what: 'build-lock' | 'upload-lock' } | undefined {
  const [, , , image = '', , buildId = '', , provider = ''] = path.split('/');
  if (image === '') return undefined;
  if (path.startsWith(`${imageBuildLockPath(image)}/`)) return { image, what: 'build-lock' };
  if (provider === '' || !path.startsWith(`${uploadLockPath(image, buildId, provider)}/`)) return undefined;
  return { image, what: 'upload-lock' };
}

/** Paths of all known records. */
function pathsOf(images: Iterable<ImageEntry>): string[] {
  return [...images].flatMap(({ name, paused, buildRequestedMs, builds, uploads }) => [
    `${IMAGES_ROOT}/${name}`,
    ...(paused ? [`${IMAGES_ROOT}/${name}/pause`] : []),
    ...(buildRequestedMs === undefined ? [] : [`${IMAGES_ROOT}/${name}/request-build`]),
    ...[...builds.keys()].map((id) => `${IMAGES_ROOT}/${name}/builds/${id}`),
    ...uploads.keys(),
  ]);
}
