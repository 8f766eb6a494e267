import type { FoundCondition } from '@nodepool/core';
import { resourceConditions } from '@nodepool/core/launcher';
import {
  imageConditions,
  newCondition,
  notStartedCondition,
  unservedImageConditions,
  type ConditionTypes,
} from '@nodepool/core/service';
import type { Builder } from './builder.js';
import { isConfigured } from './plan/unserved-images.js';
import type { DatabaseProblem } from './context/images-database.js';
import type { IdProblem } from './context/unique-builder.js';
import type { WaitingWork } from './plan/waiting-records.js';

/** Conditions of the builder and of its work. */
export const CONDITIONS = {
  BuildBlocked: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'a build is due and cannot start',
    reasons: { NoSpace: 'the message has the missing amount', Error: 'another reason, in the message' },
    nextStep: 'with NoSpace: free space in the directory; no restart is needed',
  },
  UploadImpossible: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'a provider lacks the newest build, whose files are gone or damaged; the name is `IMAGE/PROVIDER`',
    reasons: {
      FileGone: '`delete-after-upload`, or manual deletion',
      FileDamaged: 'a file differs from the build; it is read again once it changes',
      BuilderGone:
        'the builder with the files has not been registered for five minutes; after an hour another one builds the image again',
    },
    nextStep: 'nodepool image-build IMAGE; with BuilderGone, or start that builder',
  },
  UploadsOfRemovedProvider: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'builds and their files are kept for uploads in a provider that left the configuration',
    reasons: { LeftConfiguration: 'its entry was removed before its images were deleted' },
    nextStep: 'restore its entry without diskimages until they are deleted; or nodepool erase PROVIDER',
  },
  IdNotHeld: {
    ...{ kind: 'builder', severity: 'error' },
    meaning: 'another builder may have the id of this builder, so it starts no work',
    reasons: {
      LockLost: 'the lock of its id was lost, and another builder may have it',
      BuildOfAnother: 'a builder that takes no such lock, such as that of the original, builds with its id',
    },
    nextStep: 'stop the other builder, or give it an images-dir of its own',
  },
  FilesOfAnotherDatabase: {
    ...{ kind: 'builder', severity: 'error' },
    meaning:
      'the database does not know builds in images-dir, which belong to another one or to a newer copy; the builder starts no work and deletes nothing',
    reasons: {
      Unknown: 'the chroot is wrong, or the data of ZooKeeper was lost or replaced',
      OlderCopy: 'an older copy of the database was put back, which lacks builds that were made since',
    },
    nextStep:
      'correct zookeeper-servers (chroot), or restore the data; for a new database or an older copy: nodepool image-files adopt, or forget',
  },
  UploadFails: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'an upload failed and is retried; the previous image stays in service; the name is `IMAGE/PROVIDER`',
    reasons: { Error: 'in the message', Test: 'its test (`validate`) fails because of the cloud, and is repeated' },
    nextStep: 'correct the cause that the error names; with Error, nodepool image-build IMAGE ends the pause',
  },
  RemovalFails: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'the removal of a build or an upload failed and is retried; the name is its path',
    reasons: { Error: 'in the message' },
    nextStep: 'correct the cause that the error names',
  },
} as const satisfies ConditionTypes;

/** Finds the conditions of images and of the builder itself. */
export function builderConditions(builder: Builder, hostname: string, nowMs: number): FoundCondition[] {
  const { config, tree, waiting, idProblem, databaseProblem } = builder;
  const images = imageConditions(config.diskimages.values(), tree.images, nowMs);
  return [
    ...unservedImageConditions(config),
    ...(databaseProblem ? [otherDatabase(hostname, databaseProblem)] : []),
    ...(idProblem ? [idNotHeld(hostname, idProblem)] : []),
    // an image that was never built is being built now, or reported below as blocked
    ...images.filter(({ reason }) => reason !== 'NeverBuilt'),
    ...waiting.flatMap((work) => blocked(work) ?? []),
    ...builder.failedProviders.map(([name, error]) => notStartedCondition(name, error, 'it gets no images')),
    ...removedProviders(builder),
    ...(builder.unrecorded ? resourceConditions(builder.unrecorded) : []),
    ...failures(builder),
    ...failingTests(builder),
  ];
}

function idNotHeld(name: string, problem: IdProblem): FoundCondition {
  return newCondition(CONDITIONS, 'IdNotHeld', {
    ...{ name, ...problem },
    nextStep: 'stop the other builder, or give it an images-dir of its own (and delete a copied builder_id.txt)',
  });
}

function otherDatabase(name: string, { reason, message }: DatabaseProblem): FoundCondition {
  return newCondition(CONDITIONS, 'FilesOfAnotherDatabase', {
    ...{ name, reason, message },
    nextStep:
      (reason === 'OlderCopy'
        ? 'restore the newest data of ZooKeeper; to use the older copy, on this machine: '
        : 'correct zookeeper-servers (chroot), or restore the data of ZooKeeper; for a new database, on this machine: ') +
      'nodepool image-files adopt (or forget, which deletes them)',
  });
}

function blocked({ image, provider, cause, reason: message, sinceMs }: WaitingWork): FoundCondition | undefined {
  if (provider !== undefined && (cause === 'FileGone' || cause === 'FileDamaged' || cause === 'BuilderGone')) {
    return newCondition(CONDITIONS, 'UploadImpossible', {
      ...{ name: `${image}/${provider}`, reason: cause, message, sinceMs, evidence: { image, provider } },
      nextStep: `${cause === 'BuilderGone' ? 'start the builder, or ' : ''}nodepool image-build ${image}`,
    });
  }
  // A pause is deliberate, and kept builds follow from a removed provider, which has a condition of its own.
  if (provider !== undefined || cause === 'WorkersBusy') return undefined;
  const isFull = cause === 'NoSpace';
  return newCondition(CONDITIONS, 'BuildBlocked', {
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
    newCondition(CONDITIONS, 'UploadsOfRemovedProvider', {
      ...{ name: provider, reason: 'LeftConfiguration', evidence: { provider, builds: builds.size } },
      message: `it left the configuration, and its uploads keep builds and their files: ${[...builds].sort().join(', ')}`,
      nextStep: `put its entry back, with no diskimages in it, until they are deleted; if its cloud is gone: nodepool erase ${provider}`,
    }),
  );
}

/** Labels that lack an image while its upload fails. */
function labelsOf({ config }: Builder, image: string, provider: string): string {
  const pools = [...(config.providers.get(provider)?.pools.values() ?? [])];
  const labels = pools.flatMap((pool) => [...pool.labels.values()].filter(({ diskimage }) => diskimage === image));
  return [...new Set(labels.map(({ name }) => name))].join(',');
}

/** Uploads whose test fails because of the cloud: they are complete, and not ready. */
function failingTests(builder: Builder): FoundCondition[] {
  return builder.running.uploads.flatMap(({ image, provider = '', testFailure }) => {
    if (testFailure === undefined) return [];
    const evidence = { image, provider, labels: labelsOf(builder, image, provider) };
    return newCondition(CONDITIONS, 'UploadFails', {
      ...{ name: `${image}/${provider}`, reason: 'Test', evidence },
      message: `the test of its upload to provider "${provider}" fails and is repeated: ${testFailure}`,
      nextStep: 'correct what the error names; the test is repeated by itself, and nodepool image-status shows it',
    });
  });
}

/** Uploads and removals that failed and will be retried. */
function failures(builder: Builder): FoundCondition[] {
  const { failingUploads, failingDeletions } = builder;
  return [
    ...failingUploads.map(({ image, provider, attempts, error, failedMs }) =>
      newCondition(CONDITIONS, 'UploadFails', {
        ...{
          name: `${image}/${provider}`,
          reason: 'Error',
          lastSeenMs: failedMs,
          evidence: { image, provider, attempts, labels: labelsOf(builder, image, provider) },
        },
        message: `its upload to provider "${provider}" has failed ${attempts} times: ${error}`,
        nextStep: `correct what the error names; it is tried again by itself, and at once with nodepool image-build ${image}`,
      }),
    ),
    ...failingDeletions.map(({ name, attempts, error }) =>
      newCondition(CONDITIONS, 'RemovalFails', {
        ...{ name, reason: 'Error', evidence: { attempts } },
        message: `its removal has failed ${attempts} times: ${error}`,
        nextStep: 'correct what the error names; the removal is tried again by itself',
      }),
    ),
  ];
}
