import { delay, type Clock, type UploadRecord } from '@nodepool/zk-protocol';
import type { Provider, ProviderImage } from '../../contract/driver.js';
import { BUILD_ID_TAG, UPLOAD_ID_TAG } from '../../contract/instance.js';
import { isOurs } from './ownership.js';

type UploadKey = Pick<UploadRecord, 'provider' | 'buildId' | 'id'>;

/** Time between two looks at an image that the cloud still imports. */
const LOOK_MS = 2_000;

/** Whether the tags of an image prove that it was made for the upload. */
export function isImageOf(
  { provider, buildId, id }: UploadKey,
  databaseId: string | undefined,
  { metadata }: Pick<ProviderImage, 'metadata'>,
): boolean {
  const isSame = metadata[BUILD_ID_TAG] === buildId && metadata[UPLOAD_ID_TAG] === id;
  return isSame && isOurs(metadata, provider, databaseId);
}

/** An upload whose builder is gone. */
export interface LeftUpload {
  readonly upload: UploadKey;
  readonly databaseId: string | undefined;
  /** Whether the record of another upload names the image: ids of older versions repeat among images. */
  readonly isOfAnother: (externalId: string) => boolean;
  /** How long the cloud may still import what it has received. Time of `clock`. */
  readonly untilMs: number;
  readonly clock: Clock;
}

/**
 * Looks for the image of an upload whose builder is gone, and waits while the cloud imports it. Deletes what is incomplete.
 * @returns the external id of the complete image; `undefined`: there is none, and the data must be sent again
 */
export async function takeLeftImage(
  provider: Pick<Provider, 'listImages' | 'deleteImage'>,
  { upload, databaseId, isOfAnother, untilMs, clock }: LeftUpload,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (;;) {
    const listed = (await provider.listImages?.(signal)) ?? [];
    const images = listed.filter((image) => isImageOf(upload, databaseId, image) && !isOfAnother(image.externalId));
    const whole = images.find(({ ready }) => ready);
    if (!whole && clock.now() < untilMs && images.some(({ importing }) => importing === true)) {
      await delay(clock, LOOK_MS, signal);
      continue;
    }
    for (const image of images) if (image !== whole) await provider.deleteImage?.(image.externalId, signal);
    return whole?.externalId;
  }
}
