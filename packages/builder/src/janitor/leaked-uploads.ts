import { NodepoolError, type Provider } from '@nodepool/core';
import type { UnrecordedResources } from '@nodepool/core/launcher';
import { imageResource, LeakFinder, uploadEvidence } from '@nodepool/core/service';
import type { BuilderContext } from '../context/builder-context.js';

/**
 * How long a list may show a deleted image: an API answers before all of its parts have deleted it, and another builder may have
 * deleted it.
 */
const LIST_LAG_MS = 300_000;

/**
 * Finds images in the clouds that have a provider's tags but no record, because their builder was killed. Removes those with the
 * id of this database that stay for longer than lists lag, and reports the others.
 */
export class LeakedUploads implements UnrecordedResources {
  readonly #finders = new Map<string, LeakFinder>();
  readonly #looking = new Set<string>();
  #databaseId: string | undefined;

  constructor(
    private readonly context: BuilderContext,
    private readonly signal: AbortSignal,
  ) {}

  /** Images of this database that at least two searches have found, and that are not deleted yet. */
  leakedResources(): ReturnType<UnrecordedResources['leakedResources']> {
    return this.#eachOf(({ found }) => found);
  }

  /** Images with the name of a provider that may belong to another database. */
  alienResources(): ReturnType<UnrecordedResources['alienResources']> {
    return this.#eachOf(({ aliens }) => aliens);
  }

  #eachOf<T extends object>(get: (finder: LeakFinder) => readonly T[]): (T & { readonly provider: string })[] {
    const { providers } = this.context.config();
    return [...this.#finders].flatMap(([provider, finder]) =>
      providers.has(provider) ? get(finder).map((resource) => ({ ...resource, provider })) : [],
    );
  }

  /** Searches all providers once. Skips a provider whose search is still running. Never rejects. */
  async look(): Promise<void> {
    const names = [...this.context.config().providers.values()].flatMap(({ name, images }) => (images ? [name] : []));
    await Promise.all(names.map((name) => this.#lookIn(name)));
  }

  /** What a finder has seen counts for one database. */
  #forgetOtherDatabase(): void {
    const id = this.context.databaseId();
    if (id !== this.#databaseId) this.#finders.clear();
    this.#databaseId = id;
  }

  async #lookIn(name: string): Promise<void> {
    if (this.#looking.has(name)) return;
    this.#looking.add(name);
    this.#forgetOtherDatabase();
    const finder = this.#finders.get(name) ?? this.#newFinder(name);
    this.#finders.set(name, finder);
    try {
      await finder.run(this.signal);
    } catch (error) {
      const { logger } = this.context;
      if (!this.signal.aborted) logger.warn('Failed to search for leaked images', { provider: name, error });
    } finally {
      this.#looking.delete(name);
    }
  }

  #newFinder(name: string): LeakFinder {
    const { databaseId, tree, zk, clock, logger } = this.context;
    return new LeakFinder({
      ...{ provider: name, databaseId: databaseId(), zk, clock, logger: logger.child({ provider: name }) },
      nodes: {
        get ready() {
          return tree.ready;
        },
        get: () => undefined,
      },
      images: uploadEvidence(tree),
      adapter: {
        listLagMs: LIST_LAG_MS,
        listResources: async (signal) => {
          const provider = await this.#use(name, signal);
          return ((await provider.listImages?.(signal)) ?? []).map(imageResource);
        },
        deleteResource: async ({ id }, signal) => (await this.#use(name, signal)).deleteImage?.(id, signal),
        tagResource: async (resource, tags, signal) => {
          const provider = await this.#use(name, signal);
          if (!provider.tagResource) throw new Error(`driver "${provider.config.driverName}" cannot tag images`);
          await provider.tagResource(resource, tags, signal);
        },
      },
    });
  }

  async #use(name: string, signal: AbortSignal): Promise<Provider> {
    const provider = await this.context.providers.use(name, signal);
    if (!provider) throw new NodepoolError('NODEPOOL_NO_IMAGES', `provider "${name}" has left the configuration`);
    return provider;
  }
}
