import { isZooKeeperError } from '../client/contract/errors.js';
import type { ReadResult, Stat, WatchEvent, ZooKeeper } from '../client/contract/types.js';
import type { Clock } from '../base/clock.js';
import { isNodepoolError } from '../base/errors.js';
import { classifyPath, imageBuildLockPath, IMAGES_ROOT, uploadLockPath, type PathShape } from '../records/paths.js';
import { decodeBuild, decodePauseReason, decodeUpload } from '../records/image.js';
import type { BuildRecord, UploadRecord } from '../records/types.js';
import type { ZooKeeperLogger } from '../base/logger.js';

/** What is stored about one image. */
export interface ImageEntry {
  readonly name: string;
  /** An operator has paused its builds. */
  readonly paused: boolean;
  /** Why they are paused, where that is known. */
  readonly pauseReason?: string | undefined;
  /** When a build was asked for, in ms since the epoch; `undefined`: it was not. */
  readonly buildRequestedMs: number | undefined;
  /** By build id. */
  readonly builds: ReadonlyMap<string, BuildRecord>;
  /** By path. */
  readonly uploads: ReadonlyMap<string, UploadRecord>;
}

/** What an {@link ImageTree} works with. */
export interface ImageTreeOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
  /**
   * Something about the image changed, the locks of its builds and uploads included. Called once for each change, after
   * it can be seen here.
   */
  readonly changed: (image: string, change: ImageChange) => void;
  /** Everything is known again after the connection was away; what changed meanwhile was not all told while it was read. */
  readonly refreshed?: () => void;
}

/** What changed. `provider` is set when it was an upload. */
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

/** Images with their builds and uploads, kept by one watch on all of them. There are few, and they change rarely. */
export class ImageTree {
  readonly #options: ImageTreeOptions;
  readonly #images = new Map<string, MutableEntry>();
  readonly #dirty = new Set<string>();
  /** The last read under way of each path. Of those that an event named since it was sent, the answer may be older. */
  readonly #reading = new Map<string, object>();
  #isReading = false;
  #rebuilds = 0;
  #readsUnderWay = 0;
  #unsubscribe: (() => void) | undefined;
  #ready = false;

  constructor(options: ImageTreeOptions) {
    this.#options = options;
  }

  /** False while the records are not all known, e.g. after the connection broke. */
  get ready(): boolean {
    return this.#ready;
  }

  /** By name. */
  get images(): ReadonlyMap<string, ImageEntry> {
    return this.#images;
  }

  /** Changed records that wait to be read (metric `event_queue`). */
  get eventQueue(): number {
    return this.#dirty.size;
  }

  /** Reads under way (metric `playback_queue`). */
  get playbackQueue(): number {
    return this.#readsUnderWay;
  }

  /** Resolves when everything is known. Reads it again by itself after a broken connection. */
  async start(): Promise<void> {
    const { zk } = this.#options;
    await zk.addWatch(IMAGES_ROOT, 'persistent-recursive', this.#onEvent);
    this.#unsubscribe = zk.onState((state) => {
      this.#ready = false;
      if (state === 'CONNECTED') void this.#refresh();
    });
    await this.#rebuild();
  }

  /** Resolves when everything that was written before the call, by whomever, can be seen here. */
  async settle(): Promise<void> {
    do await this.#options.zk.sync(IMAGES_ROOT);
    while (this.#dirty.size > 0 || this.#isReading || this.#rebuilds > 0);
  }

  stop(): void {
    const { zk, logger } = this.#options;
    this.#unsubscribe?.();
    this.#ready = false;
    zk.removeWatch(IMAGES_ROOT, this.#onEvent).catch((error: unknown) => {
      logger.debug('Cannot remove the watch on images; it ends with the session', { error });
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

  async #rebuild(): Promise<void> {
    const { logger } = this.#options;
    this.#rebuilds += 1;
    try {
      // What is missing there is read all the same: it may have come since.
      const found = await this.#findRecords();
      for (const path of [...found, ...pathsOf(this.#images.values())]) this.#dirty.add(path);
      await this.#readDirty();
      this.#ready = true;
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      logger.debug('Reading images was interrupted; the next connection tries again', { error });
    } finally {
      this.#rebuilds -= 1;
    }
  }

  /** Goes down the tree one level at a time: images, builds, providers, uploads. */
  async #findRecords(): Promise<string[]> {
    const images = await this.#children([IMAGES_ROOT], '');
    const flags = await this.#children(images, '');
    const builds = await this.#children(images, '/builds');
    const providers = await this.#children(builds, '/providers');
    const uploads = await this.#children(providers, '/images');
    return [...images, ...flags, ...builds, ...uploads].filter((path) => 'image' in classifyPath(path));
  }

  /** Children of `<parent><below>` for each parent; a parent without that directory has none. */
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
      this.#readsUnderWay += batch.length;
      try {
        results.push(...(await this.#options.zk.multiRead(batch)));
      } finally {
        this.#readsUnderWay -= batch.length;
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

  /** Once for everything that happens in this turn. */
  async #readSoon(): Promise<void> {
    try {
      await Promise.resolve();
      await this.#readDirty();
    } catch (error) {
      this.#options.logger.debug('Reading images was interrupted; the next connection reads them all', { error });
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
      this.#options.logger.warn('Image record cannot be read; it is ignored', { path, error });
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
        entry.buildRequestedMs = stat.ctime;
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

/** The lock that the path is an entry of; `undefined` for any other path. */
function lockOfEntry(
  path: string,
): { readonly image: string; readonly what: 'build-lock' | 'upload-lock' } | undefined {
  const [, , , image = '', , buildId = '', , provider = ''] = path.split('/');
  if (image === '') return undefined;
  if (path.startsWith(`${imageBuildLockPath(image)}/`)) return { image, what: 'build-lock' };
  if (provider === '' || !path.startsWith(`${uploadLockPath(image, buildId, provider)}/`)) return undefined;
  return { image, what: 'upload-lock' };
}

/** Paths of all records that are known. */
function pathsOf(images: Iterable<ImageEntry>): string[] {
  return [...images].flatMap(({ name, paused, buildRequestedMs, builds, uploads }) => [
    `${IMAGES_ROOT}/${name}`,
    ...(paused ? [`${IMAGES_ROOT}/${name}/pause`] : []),
    ...(buildRequestedMs === undefined ? [] : [`${IMAGES_ROOT}/${name}/request-build`]),
    ...[...builds.keys()].map((id) => `${IMAGES_ROOT}/${name}/builds/${id}`),
    ...uploads.keys(),
  ]);
}
