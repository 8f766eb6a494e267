import { newCondition, type FoundCondition } from '@nodepool/core';
import type { Builder } from './builder.js';

/** What a builder cannot do: uploads and removals of images that fail and are tried again. */
export function builderConditions({
  failingUploads,
  failingDeletions,
}: Pick<Builder, 'failingUploads' | 'failingDeletions'>): FoundCondition[] {
  return [
    ...failingUploads.map(({ image, provider, attempts, error, failedMs }) =>
      newCondition('UploadFails', {
        ...{
          name: `${image}/${provider}`,
          reason: 'Error',
          lastSeenMs: failedMs,
          evidence: { image, provider, attempts },
        },
        message: `its upload to provider "${provider}" has failed ${attempts} times: ${error}`,
        nextStep: 'nodepool image-status',
      }),
    ),
    ...failingDeletions.map(({ name, attempts, error }) =>
      newCondition('RemovalFails', {
        ...{ name, reason: 'Error', evidence: { attempts } },
        message: `its removal has failed ${attempts} times: ${error}`,
        nextStep: 'correct what the error names; the removal is tried again by itself',
      }),
    ),
  ];
}
