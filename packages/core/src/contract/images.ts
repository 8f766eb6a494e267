import type { UploadRecord } from '@nodepool/zk-protocol';

/** Uploaded images, for labels with a `diskimage`. */
export interface ImageSource {
  /** False while the records are not all known. */
  readonly ready: boolean;
  /** Newest ready upload of an image in a provider. */
  newestUpload(image: string, provider: string): UploadRecord | undefined;
  /** Whether a record of this upload exists, whatever its state. */
  hasUpload(buildId: string, uploadId: string): boolean;
}
