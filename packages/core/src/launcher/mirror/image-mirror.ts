import {
  ImageTree,
  type Clock,
  type ImageEntry,
  type ImageTreeOptions,
  type NodeId,
  type NodeRecord,
  type RecordChange,
  type UploadRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { ImageSource, LaunchAttempt, UploadChoice } from '../../contract/images.js';
import { uploadEvidence, type UploadEvidence } from '../../images/upload-evidence.js';
import { pickUploads } from '../../images/pick-uploads.js';
import { CanaryLaunches } from './canary-launches.js';

/** What an image mirror works with. */
export interface ImageMirrorOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uploads of this provider changed: labels may have become ready, or ceased to be. */
  readonly changed: (provider: string) => void;
  /** Whether a node is still being made. */
  readonly isBuilding: (node: NodeId) => boolean;
}

/** The uploads that builders have recorded, as labels with a `diskimage` need them. */
export class ImageMirror implements ImageSource {
  readonly #tree: ImageTree;
  readonly #listeners = new Set<(image: string) => void>();
  readonly #canaries: CanaryLaunches;
  readonly #evidence: UploadEvidence;
  readonly #clock: Clock;

  constructor({ zk, clock, logger, changed, isBuilding }: ImageMirrorOptions) {
    this.#clock = clock;
    this.#canaries = new CanaryLaunches({
      ...{ zk, clock, logger, isBuilding },
      images: () => this.#tree.images,
      settle: () => this.#tree.settle(),
    });
    const onChange: ImageTreeOptions['changed'] = (image, { provider }) => {
      if (provider !== undefined) changed(provider);
      for (const listener of this.#listeners) listener(image);
      this.#canaries.imageChanged(image);
    };
    this.#tree = new ImageTree({ zk, clock, logger, changed: onChange });
    this.#evidence = uploadEvidence(this.#tree);
  }

  get ready(): boolean {
    return this.#tree.ready;
  }

  /** Images with their builds and uploads, by name. */
  get images(): ReadonlyMap<string, ImageEntry> {
    return this.#tree.images;
  }

  /** Tells when an image, build or upload changed. @returns ends it */
  onChange(listener: (image: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Changed records that wait to be read (metric `event_queue`). */
  get eventQueue(): number {
    return this.#tree.eventQueue;
  }

  /** Reads under way (metric `playback_queue`). */
  get playbackQueue(): number {
    return this.#tree.playbackQueue;
  }

  newestUpload(image: string, provider: string): UploadRecord | undefined {
    return pickUploads(this.#tree.images.get(image), provider, this.#clock.now())?.upload;
  }

  chooseUpload(image: string, attempt: LaunchAttempt): Promise<UploadChoice> | undefined {
    return this.#canaries.choose(image, attempt);
  }

  /** A node has changed, of a pool of this launcher. */
  nodeChanged({ before, after }: RecordChange<NodeRecord>): void {
    if (before?.state === 'in-use' && after && after.state !== 'in-use') this.#canaries.nodeUsed(before, after);
  }

  hasUpload(buildId: string, uploadId: string, provider?: string): boolean {
    return this.#evidence.hasUpload(buildId, uploadId, provider);
  }

  hasImage(provider: string, externalId: string): boolean {
    return this.#evidence.hasImage(provider, externalId);
  }

  /** Resolves when all uploads are known. Reads them again by itself after a broken connection. */
  start(): Promise<void> {
    return this.#tree.start();
  }

  stop(): void {
    this.#tree.stop();
  }
}
