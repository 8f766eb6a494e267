import { BUILD_ID_TAG, PROVIDER_TAG, UPLOAD_ID_TAG, type ProviderImage } from '@nodepool/core';
import type { Surroundings } from '../context/surroundings.js';

/** Finds images in the clouds that carry a provider's tags and that no record speaks of: their builder was killed. */
export class LeakedUploads {
  readonly #seen = new Map<string, ReadonlySet<string>>();
  readonly #looking = new Set<string>();

  constructor(
    private readonly surroundings: Surroundings,
    private readonly signal: AbortSignal,
  ) {}

  /** Removes what the look before has seen too. A provider that has not answered yet is left out. Never rejects. */
  async look(): Promise<void> {
    const names = [...this.surroundings.config().providers.values()].flatMap(({ name, images }) =>
      images ? [name] : [],
    );
    await Promise.all(names.map((name) => this.#lookIn(name)));
  }

  async #lookIn(name: string): Promise<void> {
    if (this.#looking.has(name)) return;
    this.#looking.add(name);
    const { providers, logger } = this.surroundings;
    try {
      const provider = await providers.use(name, this.signal);
      const leaked = ((await provider?.listImages?.(this.signal)) ?? []).filter((image) => this.#isLeaked(name, image));
      const before = this.#seen.get(name);
      this.#seen.set(name, new Set(leaked.map(({ externalId }) => externalId)));
      for (const { externalId } of leaked) {
        if (before?.has(externalId) !== true) continue;
        logger.warn('Leaked image is removed', { provider: name, externalId });
        await provider?.deleteImage?.(externalId, this.signal);
      }
    } catch (error) {
      if (!this.signal.aborted) logger.warn('Cannot look for leaked images', { provider: name, error });
    } finally {
      this.#looking.delete(name);
    }
  }

  #isLeaked(provider: string, { metadata, externalId }: ProviderImage): boolean {
    const { [PROVIDER_TAG]: owner, [BUILD_ID_TAG]: buildId, [UPLOAD_ID_TAG]: uploadId } = metadata;
    if (owner !== provider || buildId === undefined || uploadId === undefined) return false;
    const { tree } = this.surroundings;
    if (!tree.ready) return false;
    return ![...tree.images.values()].some(({ uploads }) =>
      [...uploads.values()].some(
        (upload) =>
          upload.provider === provider &&
          (upload.externalId === externalId || (upload.buildId === buildId && upload.id === uploadId)),
      ),
    );
  }
}
