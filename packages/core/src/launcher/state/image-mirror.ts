import { ImageTree, type ImageEntry, type UploadRecord } from '@nodepool/zk-protocol';
import type { ImageSource, LaunchAttempt, UploadChoice } from '../../contract/images.js';
import { uploadEvidence, type UploadEvidence } from '../../contract/images.js';
import { servingFirst } from '../../images/pick-uploads.js';
import type { Context } from './context.js';

/** Picks uploads for launches in place of the newest ones. */
export interface UploadPicker {
  /** The upload in service. `undefined`: there is none. */
  inService(entry: ImageEntry, provider: string): UploadRecord | undefined;
  /** As `ImageSource.chooseUpload`. */
  choose(entry: ImageEntry, attempt: LaunchAttempt): UploadChoice | undefined;
}

/** Images, builds and uploads that builders have recorded, for labels with a `diskimage`. */
export class ImageMirror implements ImageSource {
  readonly #tree: ImageTree;
  readonly #evidence: UploadEvidence;
  readonly #events: Context['events'];
  #picker: UploadPicker | undefined;

  constructor(context: Pick<Context, 'zk' | 'clock' | 'logger' | 'events'>) {
    this.#events = context.events;
    this.#tree = new ImageTree({ ...context, changed: (image, { provider }) => this.#changed(image, provider) });
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
    const entry = this.#tree.images.get(image);
    if (!entry || !this.#picker) return servingFirst(entry, provider)[0];
    return this.#picker.inService(entry, provider);
  }

  chooseUpload(image: string, attempt: LaunchAttempt): UploadChoice | undefined {
    const entry = this.#tree.images.get(image);
    return entry && this.#picker?.choose(entry, attempt);
  }

  hasUpload(buildId: string, uploadId: string, provider?: string): boolean {
    return this.#evidence.hasUpload(buildId, uploadId, provider);
  }

  hasImage(provider: string, externalId: string): boolean {
    return this.#evidence.hasImage(provider, externalId);
  }

  /** Has a feature pick the uploads of launches. Default: the newest ones. */
  pickBy(picker: UploadPicker): void {
    this.#picker = picker;
  }

  /** Resolves when each write of any process that was made before the call is known. */
  settle(): Promise<void> {
    return this.#tree.settle();
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
    this.#events.emit('imageChanged', { image, provider });
  }
}
