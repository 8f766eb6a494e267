import {
  classifyPath,
  decodeUpload,
  IMAGES_ROOT,
  isNodepoolError,
  isZooKeeperError,
  uploadPath,
  type Clock,
  type ReadResult,
  type Stat,
  type UploadKey,
  type UploadRecord,
  type WatchEvent,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Logger } from '../logger.js';
import type { ImageSource } from '../operations/images.js';

/** What an image mirror works with. */
export interface ImageMirrorOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uploads of this provider changed: labels may have become ready, or ceased to be. */
  readonly changed: (provider: string) => void;
}

const READS_AT_ONCE = 200;

/** The uploads that builders have recorded, kept by one watch on all images. There are few, and they change rarely. */
export class ImageMirror implements ImageSource {
  readonly #options: ImageMirrorOptions;
  readonly #uploads = new Map<string, UploadRecord>();
  readonly #dirty = new Set<string>();
  #isReading = false;
  #readsUnderWay = 0;
  #unsubscribe: (() => void) | undefined;
  #ready = false;

  constructor(options: ImageMirrorOptions) {
    this.#options = options;
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** Changed uploads that wait to be read (metric `event_queue`). */
  get eventQueue(): number {
    return this.#dirty.size;
  }

  /** Reads under way (metric `playback_queue`). */
  get playbackQueue(): number {
    return this.#readsUnderWay;
  }

  newestUpload(image: string, provider: string): UploadRecord | undefined {
    let newest: UploadRecord | undefined;
    for (const upload of this.#uploads.values()) {
      if (upload.image !== image || upload.provider !== provider || upload.state !== 'ready') continue;
      if (!newest || upload.stateTimeMs > newest.stateTimeMs) newest = upload;
    }
    return newest;
  }

  hasUpload(buildId: string, uploadId: string): boolean {
    for (const upload of this.#uploads.values()) {
      if (upload.buildId === buildId && upload.id === uploadId) return true;
    }
    return false;
  }

  /** Resolves when all uploads are known. Reads them again by itself after a broken connection. */
  async start(): Promise<void> {
    const { zk } = this.#options;
    await zk.addWatch(IMAGES_ROOT, 'persistent-recursive', this.#onEvent);
    this.#unsubscribe = zk.onState((state) => {
      this.#ready = false;
      if (state === 'CONNECTED') void this.#rebuild();
    });
    await this.#rebuild();
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
    if (classifyPath(event.path).shape !== 'upload') return;
    if (event.type === 'deleted') this.#forget(event.path);
    else this.#mark(event.path);
  };

  async #rebuild(): Promise<void> {
    const { logger } = this.#options;
    try {
      const found = new Set(await this.#findUploads());
      for (const path of this.#uploads.keys()) if (!found.has(path)) this.#forget(path);
      for (const path of found) this.#dirty.add(path);
      await this.#readDirty();
      this.#ready = true;
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      logger.debug('Reading images was interrupted; the next connection tries again', { error });
    }
  }

  /** Goes down the tree one level at a time: images, builds, providers, uploads. */
  async #findUploads(): Promise<string[]> {
    const images = await this.#children([IMAGES_ROOT], '');
    const builds = await this.#children(images, '/builds');
    const providers = await this.#children(builds, '/providers');
    const uploads = await this.#children(providers, '/images');
    return uploads.filter((path) => classifyPath(path).shape === 'upload');
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
      this.#options.logger.debug('Reading uploads was interrupted; the next connection reads them all', { error });
    } finally {
      this.#isReading = false;
    }
  }

  async #readDirty(): Promise<void> {
    while (this.#dirty.size > 0) {
      const paths = [...this.#dirty];
      this.#dirty.clear();
      for (const result of await this.#readAll(paths, 'data')) {
        if (result.read === 'data') this.#apply(result.path, result.data, result.stat);
        else this.#forget(result.path);
      }
    }
  }

  #apply(path: string, body: Buffer, stat: Stat): void {
    const { clock, logger } = this.#options;
    const shape = classifyPath(path);
    if (shape.shape !== 'upload') return;
    const key: UploadKey = {
      image: shape.image,
      buildId: shape.buildId,
      provider: shape.provider,
      id: shape.uploadId,
    };
    try {
      const upload = decodeUpload(key, body, stat, clock.now());
      if (!upload) {
        this.#forget(path);
        return;
      }
      this.#uploads.set(uploadPath(key.image, key.buildId, key.provider, key.id), upload);
      this.#options.changed(key.provider);
    } catch (error) {
      if (!isNodepoolError(error)) throw error;
      logger.warn('Upload cannot be read; leaving it alone', { path, error });
    }
  }

  #forget(path: string): void {
    const upload = this.#uploads.get(path);
    if (upload && this.#uploads.delete(path)) this.#options.changed(upload.provider);
  }
}
