import type { ImageTree, NodeId, UploadRecord } from '@nodepool/zk-protocol';

/** Uploaded images, for labels with a `diskimage`. */
export interface ImageSource {
  /** False until all records have been read. */
  readonly ready: boolean;
  /** The upload of an image that a provider uses: the newest ready one, except builds on trial. */
  newestUpload(image: string, provider: string): UploadRecord | undefined;
  /**
   * Chooses the upload for one launch attempt while a new build of the image is on trial. Missing, or `undefined` returned: use
   * `newestUpload`, and report nothing.
   */
  chooseUpload?(image: string, attempt: LaunchAttempt): UploadChoice | undefined;
  /**
   * Whether a record of this upload exists, whatever its state.
   * @param provider - ids of uploads count from one in each provider; default: of any provider
   */
  hasUpload(buildId: string, uploadId: string, provider?: string): boolean;
  /** Whether a record of an upload to the provider has this external id, whatever its state. */
  hasImage(provider: string, externalId: string): boolean;
}

/** An attempt to launch a node. */
export interface LaunchAttempt {
  readonly provider: string;
  readonly node: NodeId;
  /** Whether the attempt may use a build on trial. */
  readonly mayTry: boolean;
}

/** An upload that an attempt to launch a node uses. */
export interface UploadChoice {
  readonly upload: UploadRecord;
  /**
   * Call it once, after the attempt. @param error - `undefined`: the node is ready
   * @returns whether the failure counts against a build on trial, and thus not against the provider
   */
  ended(error: Error | undefined): boolean;
}

/** Whether records of uploads account for an image in a cloud. */
export type UploadEvidence = Pick<ImageSource, 'ready' | 'hasUpload' | 'hasImage'>;

/** Evidence from the records of an image tree. */
export function uploadEvidence(tree: Pick<ImageTree, 'ready' | 'images'>): UploadEvidence {
  const hasAny = (matches: (upload: UploadRecord) => boolean) =>
    [...tree.images.values()].some(({ uploads }) => [...uploads.values()].some(matches));
  return {
    get ready() {
      return tree.ready;
    },
    hasUpload: (buildId, uploadId, provider) =>
      hasAny(
        (upload) =>
          upload.buildId === buildId &&
          upload.id === uploadId &&
          (provider === undefined || upload.provider === provider),
      ),
    hasImage: (provider, externalId) =>
      hasAny((upload) => upload.provider === provider && upload.externalId === externalId),
  };
}
