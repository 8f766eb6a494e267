import type { ImageTree, UploadRecord } from '@nodepool/zk-protocol';

/**
 * Whether another upload refers to the same image in the cloud. With names without a timestamp, two uploads of the same data
 * share an image, which stays until the last of them is deleted.
 */
export function isOfAnotherUpload(
  { images }: Pick<ImageTree, 'images'>,
  { image, buildId, provider, id, externalId }: UploadRecord,
): boolean {
  if (externalId === null) return false;
  return [...images.values()].some(({ uploads }) =>
    [...uploads.values()].some((other) => {
      const isSame =
        other.image === image && other.buildId === buildId && other.provider === provider && other.id === id;
      return !isSame && other.provider === provider && other.externalId === externalId && other.state !== 'deleting';
    }),
  );
}
