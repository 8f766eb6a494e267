import { databaseTag, type AlienResource, type Provider, type ProviderImage, type Resource } from '@nodepool/core';
import { Aliens, judgeAll, type Verdict } from '@nodepool/core/service';
import { readDatabaseId } from '@nodepool/zk-protocol';
import type { Surroundings } from '../context/surroundings.js';

/**
 * Finds images in the clouds that carry a provider's tags and that no record speaks of: their builder was killed. Only those
 * with the id of this database are removed; the others are reported.
 */
export class LeakedUploads {
  readonly #seen = new Map<string, ReadonlySet<string>>();
  readonly #looking = new Set<string>();
  readonly #aliens = new Map<string, Aliens>();

  constructor(
    private readonly surroundings: Surroundings,
    private readonly signal: AbortSignal,
  ) {}

  /** Images that carry the name of a provider and are not proven to belong to this database. */
  get aliens(): readonly (AlienResource & { readonly provider: string })[] {
    const { providers } = this.surroundings.config();
    return [...this.#aliens].flatMap(([provider, { all }]) =>
      providers.has(provider) ? all.map((resource) => ({ ...resource, provider })) : [],
    );
  }

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
      if (provider) await this.#lookThrough(name, provider);
    } catch (error) {
      if (!this.signal.aborted) logger.warn('Cannot look for leaked images', { provider: name, error });
    } finally {
      this.#looking.delete(name);
    }
  }

  async #lookThrough(name: string, provider: Provider): Promise<void> {
    const { logger, zk, databaseId } = this.surroundings;
    const verdicts = [...this.#judge(name, (await provider.listImages?.(this.signal)) ?? [])];
    const those = (wanted: Verdict) => verdicts.flatMap(([image, verdict]) => (verdict === wanted ? [image] : []));
    const leaked = those('leaked');
    const before = this.#seen.get(name);
    this.#seen.set(name, new Set(leaked.map(({ id }) => id)));
    this.#aliensOf(name).saw(those('alien'));
    await this.#tagAll(provider, those('recorded'));
    const again = leaked.filter(({ id }) => before?.has(id) === true);
    if (again.length > 0 && (await readDatabaseId(zk)) !== databaseId()) {
      logger.warn('Leaked images are kept: the database has another id than at the start; restart this builder');
      return;
    }
    for (const { id } of again) {
      logger.warn('Leaked image is removed', { provider: name, externalId: id });
      await provider.deleteImage?.(id, this.signal);
    }
  }

  #judge(provider: string, images: readonly ProviderImage[]): Map<Resource, Verdict> {
    const { tree, databaseId } = this.surroundings;
    const uploads = [...tree.images.values()].flatMap((image) => [...image.uploads.values()]);
    const resources = images.map(({ externalId, name, metadata }) => ({
      type: 'image',
      id: externalId,
      name,
      metadata,
    }));
    return judgeAll(resources, {
      provider,
      databaseId: databaseId(),
      nodes: new Map(),
      images: {
        ready: tree.ready,
        hasUpload: (buildId, uploadId) =>
          uploads.some((one) => one.provider === provider && one.buildId === buildId && one.id === uploadId),
        hasImage: (_provider, externalId) =>
          uploads.some((one) => one.provider === provider && one.externalId === externalId),
      },
    });
  }

  /** Uploaded before the database had an id, or by a builder that writes none. */
  async #tagAll(provider: Provider, images: readonly Resource[]): Promise<void> {
    const { databaseId, logger } = this.surroundings;
    if (!provider.tagResource) return;
    for (const image of images) {
      const fields = { provider: provider.config.name, externalId: image.id };
      try {
        await provider.tagResource(image, databaseTag(databaseId()), this.signal);
        logger.info('Tagged the image of an existing upload with the database id', fields);
      } catch (error) {
        if (this.signal.aborted) throw error;
        logger.warn('Failed to tag an image with the database id; retrying at the next look', { ...fields, error });
      }
    }
  }

  #aliensOf(provider: string): Aliens {
    const { clock, logger } = this.surroundings;
    const known = this.#aliens.get(provider) ?? new Aliens({ provider, clock, logger: logger.child({ provider }) });
    this.#aliens.set(provider, known);
    return known;
  }
}
