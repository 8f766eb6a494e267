import {
  buildLockPath,
  buildPath,
  encodeBuild,
  encodeUpload,
  imageBuildLockPath,
  isZooKeeperError,
  NodepoolError,
  uploadLockPath,
  uploadNumberLockPath,
  uploadPath,
  withBuild,
  withUpload,
  ZkLock,
  type BuildRecord,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import type { Provider } from '@nodepool/core';
import { isImageOf } from '@nodepool/core/service';
import type { BuilderContext } from '../context/builder-context.js';
import { isOfAnotherUpload } from '../context/shared-image.js';
import { RETIRED_KEY, type CleanupStep } from '../plan/plan-cleanup.js';

/** What a {@link Cleaner} asks of its janitor. */
export interface CleanerHost {
  isInUse(buildId: string): boolean;
  /** Ends calls to clouds. */
  readonly signal: AbortSignal;
}

const DELETE_LIMIT_MS = 120_000;

/** Takes single steps, each under the locks of the data model. Records that changed meanwhile wait for the next look. */
export class Cleaner {
  constructor(
    private readonly context: BuilderContext,
    private readonly host: CleanerHost,
  ) {}

  /**
   * @returns whether there was something to do: false when another process does it, or has done it
   * @throws why the step could not be taken
   */
  async take(step: CleanupStep): Promise<boolean> {
    try {
      return await this.#take(step);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_BAD_VERSION')) throw error;
      return false;
    }
  }

  async #take(step: CleanupStep): Promise<boolean> {
    const { logger, zk } = this.context;
    switch (step.step) {
      case 'forget-upload':
        return this.#forgetUpload(step.upload);
      case 'delete-upload':
        return this.#deleteUpload(step.upload);
      case 'retire-interrupted-build':
        if (this.host.isInUse(step.build.id)) return false;
        if (await this.#isLocked(imageBuildLockPath(step.build.image))) return false;
        return this.#retire(step.build, { [RETIRED_KEY]: true });
      case 'retire-build':
        return this.#retire(step.build, {});
      case 'delete-build':
        // Still being built: the record says `deleting` until the build has ended and has read that.
        if (this.host.isInUse(step.build.id)) return false;
        await zk.deleteRecursive(buildPath(step.build.image, step.build.id));
        logger.info('Build removed', { image: step.build.image, build: step.build.id });
        return true;
    }
  }

  async #isLocked(root: string): Promise<boolean> {
    return (await ZkLock.lockHolder(this.context.zk, root)) !== undefined;
  }

  /** The builder that made it is gone, perhaps between the creation in the cloud and the moment its id was stored. */
  async #forgetUpload(upload: UploadRecord): Promise<boolean> {
    if (await this.#isLocked(uploadLockPath(upload.image, upload.buildId, upload.provider))) return false;
    return this.#deleteUpload(upload);
  }

  /** Under the lock from the first look to the end of the record, so that two builders never delete one image twice. */
  async #deleteUpload(upload: UploadRecord): Promise<boolean> {
    const { zk, clock, logger } = this.context;
    const { image, buildId, provider, id, externalId } = upload;
    const path = uploadPath(image, buildId, provider, id);
    if ((await zk.exists(path)) === undefined) return false; // Taking its lock would create it again.
    const lock = new ZkLock(zk, uploadNumberLockPath(image, buildId, provider, id), { clock });
    if (!(await lock.acquire({ blocking: false }))) return false;
    try {
      const { data, stat } = await zk.getData(path);
      if (data.length > 0) {
        if (stat.version !== upload.stat?.version) return false;
        if (upload.state !== 'deleting') {
          const deleting = withUpload(upload, { state: 'deleting' }, clock.now());
          await zk.setData(path, encodeUpload(deleting), stat.version);
        }
        await this.#deleteInCloud(upload);
        logger.info('Upload removed', { image, build: buildId, provider, upload: id, externalId });
      }
      await zk.deleteRecursive(path); // with the lock
      return true;
    } finally {
      await lock.release();
    }
  }

  async #deleteInCloud(upload: UploadRecord): Promise<void> {
    const { provider: name, externalId, state } = upload;
    if (externalId === null && state === 'failed') return;
    if (isOfAnotherUpload(this.context.tree, upload)) return;
    const { providers, clock } = this.context;
    const late = new AbortController();
    const cancel = clock.setTimer(DELETE_LIMIT_MS, () =>
      late.abort(new NodepoolError('NODEPOOL_TIMEOUT', `not deleted within ${DELETE_LIMIT_MS / 1_000} s`)),
    );
    try {
      const signal = AbortSignal.any([this.host.signal, late.signal]);
      const provider = await providers.use(name, signal);
      if (!provider?.deleteImage) {
        throw new NodepoolError('NODEPOOL_NO_IMAGES', `provider "${name}" cannot delete images now`);
      }
      const ids = externalId === null ? await this.#findByTags(provider, upload, signal) : [externalId];
      for (const one of ids) await provider.deleteImage(one, signal);
    } finally {
      cancel();
    }
  }

  async #retire(build: BuildRecord, marks: Readonly<Record<string, true>>): Promise<boolean> {
    const { zk, clock } = this.context;
    const lock = new ZkLock(zk, buildLockPath(build.image, build.id), { clock });
    if (!(await lock.acquire({ blocking: false }))) return false;
    try {
      const deleting = withBuild(build, { state: 'deleting' }, clock.now());
      const body = encodeBuild({ ...deleting, raw: { ...deleting.raw, ...marks } });
      await zk.setData(buildPath(build.image, build.id), body, build.stat?.version);
      return true;
    } finally {
      await lock.release();
    }
  }

  /**
   * Images in the cloud that were made for an upload whose id was not stored. An image that a record names belongs to
   * that record: ids of older versions repeat among images.
   */
  async #findByTags(provider: Provider, upload: UploadRecord, signal: AbortSignal): Promise<string[]> {
    const { tree, databaseId } = this.context;
    const images = (await provider.listImages?.(signal)) ?? [];
    const recorded = new Set(
      [...tree.images.values()].flatMap(({ uploads }) =>
        [...uploads.values()].flatMap((one) => (one.provider === upload.provider ? [one.externalId] : [])),
      ),
    );
    return images
      .filter((image) => isImageOf(upload, databaseId(), image) && !recorded.has(image.externalId))
      .map(({ externalId }) => externalId);
  }
}
