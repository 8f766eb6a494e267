import type { ImageTree, NodeId, UploadRecord } from '@nodepool/zk-protocol';

/** Uploaded images, for labels with a `diskimage`. */
export interface ImageSource {
  /** False while the records are not all known. */
  readonly ready: boolean;
  /** The ready upload of an image that serves in a provider: the newest whose build is not being tried out. */
  newestUpload(image: string, provider: string): UploadRecord | undefined;
  /**
   * Chooses the upload of one attempt to launch a node, while a new build of the image is tried out (`canary`). Missing, or
   * `undefined` in answer: `newestUpload`, and nothing is to be told.
   */
  chooseUpload?(image: string, attempt: LaunchAttempt): Promise<UploadChoice> | undefined;
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
  /** Whether it may use a build that is being tried out. */
  readonly mayTry: boolean;
}

/** An upload that an attempt to launch a node uses. */
export interface UploadChoice {
  readonly upload: UploadRecord;
  /**
   * To be called once, when the attempt has ended. @param error - `undefined`: the node is ready
   * @returns whether the failure counts against a build that is being tried out, so that it says nothing about the provider
   */
  ended(error: Error | undefined): Promise<boolean>;
}

/** Whether records of uploads account for an image in a cloud. */
export type UploadEvidence = Pick<ImageSource, 'ready' | 'hasUpload' | 'hasImage'>;

/** What the records that are stored now say. */
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
