import {
  ImageTree,
  type ImageEntry,
  type NodeRecord,
  type RecordChange,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import type { ImageSource, LaunchAttempt, UploadChoice } from '../../contract/images.js';
import { uploadEvidence, type UploadEvidence } from '../../contract/images.js';
import { pickUploads } from '../../images/pick-uploads.js';
import { CanaryLaunches, type NodesById } from './canary-launches.js';
import type { Context } from './context.js';

/** Images, builds and uploads that builders have recorded, for labels with a `diskimage`. */
export class ImageMirror implements ImageSource {
  readonly #tree: ImageTree;
  readonly #canaries: CanaryLaunches;
  readonly #evidence: UploadEvidence;
  readonly #context: Pick<Context, 'clock' | 'events'>;

  constructor(context: Pick<Context, 'zk' | 'clock' | 'logger' | 'events'>, nodes: NodesById) {
    this.#context = context;
    this.#tree = new ImageTree({ ...context, changed: (image, { provider }) => this.#changed(image, provider) });
    this.#canaries = new CanaryLaunches(context, this.#tree, nodes);
    this.#evidence = uploadEvidence(this.#tree);
  }

  get ready(): boolean {
    return this.#tree.ready;
  }

  /** Images with their builds and uploads, by name. */
  get images(): ReadonlyMap<string, ImageEntry> {
    return this.#tree.images;
  }

  /** Number of changed records that wait to be read (metric `event_queue`). */
  get eventQueue(): number {
    return this.#tree.eventQueue;
  }

  /** Number of reads in progress (metric `playback_queue`). */
  get playbackQueue(): number {
    return this.#tree.playbackQueue;
  }

  newestUpload(image: string, provider: string): UploadRecord | undefined {
    return pickUploads(this.#tree.images.get(image), provider, this.#context.clock.now())?.upload;
  }

  chooseUpload(image: string, attempt: LaunchAttempt): Promise<UploadChoice> | undefined {
    return this.#canaries.choose(image, attempt);
  }

  /** A node of one of this launcher's pools has changed. */
  nodeChanged({ before, after }: RecordChange<NodeRecord>): void {
    if (before?.state === 'in-use' && after && after.state !== 'in-use') this.#canaries.nodeUsed(before, after);
  }

  hasUpload(buildId: string, uploadId: string, provider?: string): boolean {
    return this.#evidence.hasUpload(buildId, uploadId, provider);
  }

  hasImage(provider: string, externalId: string): boolean {
    return this.#evidence.hasImage(provider, externalId);
  }

  /** Resolves when all uploads are known. After a lost connection they are read again without another call. */
  start(): Promise<void> {
    return this.#tree.start();
  }

  stop(): void {
    this.#tree.stop();
  }

  /** @param provider - of the upload that changed, if it was one */
  #changed(image: string, provider: string | undefined): void {
    const { events } = this.#context;
    events.emit('imageChanged', { image, provider });
    this.#canaries.imageChanged(image);
  }
}
