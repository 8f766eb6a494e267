import type { FoundCondition } from '@nodepool/core';
import { imageConditions, newCondition, unservedImageConditions } from '@nodepool/core/service';
import type { Builder } from './builder.js';
import { isConfigured } from './plan/unserved-images.js';
import type { IdProblem } from './context/unique-builder.js';
import type { WaitingWork } from './plan/waiting-records.js';

/** Finds the conditions of images and of the builder itself. */
export function builderConditions(builder: Builder, hostname: string, nowMs: number): FoundCondition[] {
  const { config, tree, waiting, idProblem, databaseProblem } = builder;
  const images = imageConditions(config.diskimages.values(), tree.images, nowMs);
  return [
    ...unservedImageConditions(config),
    ...(databaseProblem === undefined ? [] : [otherDatabase(hostname, databaseProblem)]),
    ...(idProblem ? [idNotHeld(hostname, idProblem)] : []),
    // an image that was never built is being built now, or reported below as blocked
    ...images.filter(({ reason }) => reason !== 'NeverBuilt'),
    ...waiting.flatMap((work) => blocked(work) ?? []),
    ...removedProviders(builder),
    ...failures(builder),
  ];
}

function idNotHeld(name: string, problem: IdProblem): FoundCondition {
  return newCondition('IdNotHeld', {
    ...{ name, ...problem },
    nextStep: 'stop the other builder, or give it an images-dir of its own (and delete a copied builder_id.txt)',
  });
}

function otherDatabase(name: string, message: string): FoundCondition {
  return newCondition('FilesOfAnotherDatabase', {
    ...{ name, reason: 'Unknown', message },
    nextStep:
      'correct zookeeper-servers (chroot), or restore the data of ZooKeeper; for a new database, on this machine: ' +
      'nodepool image-files adopt (or forget, which deletes them)',
  });
}

function blocked({ image, provider, cause, reason: message, sinceMs }: WaitingWork): FoundCondition | undefined {
  if (provider !== undefined && (cause === 'FileGone' || cause === 'BuilderGone')) {
    return newCondition('UploadImpossible', {
      ...{ name: `${image}/${provider}`, reason: cause, message, sinceMs, evidence: { image, provider } },
      nextStep: `${cause === 'BuilderGone' ? 'start the builder, or ' : ''}nodepool image-build ${image}`,
    });
  }
  // A pause is deliberate, and kept builds follow from a removed provider, which has a condition of its own.
  if (provider !== undefined || cause === 'WorkersBusy') return undefined;
  const isFull = cause === 'NoSpace';
  return newCondition('BuildBlocked', {
    ...{ name: image, reason: isFull ? 'NoSpace' : 'Error', message, sinceMs, evidence: { image } },
    nextStep: isFull
      ? 'free space in this directory, or give the builder another one; it is tried again without a restart'
      : 'correct what the error names; it is tried again without a restart',
  });
}

/** Providers that were removed from the configuration while they have uploads of builds on this builder's disk. */
function removedProviders({ config, tree, id }: Builder): FoundCondition[] {
  const kept = new Map<string, Set<string>>();
  for (const { name, builds, uploads } of tree.images.values()) {
    for (const { provider, buildId, state } of uploads.values()) {
      const build = builds.get(buildId);
      if (state !== 'ready' || build?.builderId !== id || isConfigured(config, provider)) continue;
      kept.set(provider, (kept.get(provider) ?? new Set()).add(`${name}-${buildId}`));
    }
  }
  return [...kept].map(([provider, builds]) =>
    newCondition('UploadsOfRemovedProvider', {
      ...{ name: provider, reason: 'LeftConfiguration', evidence: { provider, builds: builds.size } },
      message: `it left the configuration, and its uploads keep builds and their files: ${[...builds].sort().join(', ')}`,
      nextStep: `put its entry back, with no diskimages in it, until they are deleted; if its cloud is gone: nodepool erase ${provider}`,
    }),
  );
}

/** Uploads and removals that failed and will be retried. */
function failures({ failingUploads, failingDeletions }: Builder): FoundCondition[] {
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
