import type { ImageTree, UploadRecord } from '@nodepool/zk-protocol';
import type { ImageSource } from '../contract/images.js';

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
