import { isNodepoolError, type Clock, steadyNow } from '@nodepool/zk-protocol';
import type { AlienResource, Provider } from '../../contract/driver.js';
import { DATABASE_ID_TAG, type Resource } from '../../contract/instance.js';
import { describeAlien } from './aliens.js';
import { imageResource, judgeAll, type Evidence } from './judge.js';
import { databaseTag } from './ownership.js';

/** Maximum age of a list of resources, as only recently read resources may be tagged. */
const FRESH_MS = 5_000;

/** Options of an adoption. */
export interface AdoptionOptions {
  /** Prepared by `startImages` or `start`. */
  readonly provider: Provider;
  readonly evidence: Evidence;
  readonly clock: Pick<Clock, 'now'>;
  /**
   * Reads again the records that could name the resource, so that `evidence` has them.
   * @returns false when one of them cannot be read
   */
  reread(resource: Resource): Promise<boolean>;
}

/**
 * - `adopted`: it carries the id of this database now, and the clean-up deletes it
 * - `gone`: the cloud does not have it any more
 * - `recorded`: it has got a record, or the id of this database
 * - `unreadable`: a record that could name it cannot be read
 * - `other-database`: it carries the id of another database, and `force` was not given
 */
export type Adoption = 'adopted' | 'gone' | 'recorded' | 'unreadable' | 'other-database';

/** Assigns alien resources of a provider to this database, for `nodepool adopt`. */
export class AlienAdoption {
  readonly #options: AdoptionOptions;
  #listed: { readonly resources: readonly Resource[]; readonly atMs: number } | undefined;

  constructor(options: AdoptionOptions) {
    this.#options = options;
  }

  /** The present alien resources of the provider. */
  async find(signal: AbortSignal): Promise<AlienResource[]> {
    const { evidence, clock } = this.#options;
    this.#listed = undefined;
    const verdicts = judgeAll(await this.#list(signal), evidence);
    return [...verdicts].flatMap(([resource, verdict]) =>
      verdict === 'alien' ? [describeAlien(resource, clock.now())] : [],
    );
  }

  /** Writes the id of this database on one of them, unless it is none any more. @param force - also over another id */
  async adopt({ type, id }: AlienResource, force: boolean, signal: AbortSignal): Promise<Adoption> {
    const { provider, evidence } = this.#options;
    const resources = await this.#list(signal);
    const resource = resources.find((one) => one.type === type && one.id === id);
    if (!resource) return 'gone';
    if (!(await this.#options.reread(resource))) return 'unreadable';
    if (judgeAll(resources, evidence).get(resource) !== 'alien') return 'recorded';
    if (resource.metadata[DATABASE_ID_TAG] !== undefined && !force) return 'other-database';
    try {
      await provider.tagResource?.(resource, databaseTag(evidence.databaseId), signal);
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return 'gone';
      throw error;
    }
    return 'adopted';
  }

  async #list(signal: AbortSignal): Promise<readonly Resource[]> {
    const { provider, clock } = this.#options;
    if (this.#listed && steadyNow(clock) - this.#listed.atMs < FRESH_MS) return this.#listed.resources;
    const atMs = steadyNow(clock);
    const [resources = [], images = []] = await Promise.all([
      provider.listResources?.(signal),
      provider.listImages?.(signal),
    ]);
    const known = new Set(resources.map(({ type, id }) => `${type} ${id}`));
    const further = images.filter(({ externalId }) => !known.has(`image ${externalId}`)).map(imageResource);
    this.#listed = { resources: [...resources, ...further], atMs };
    return this.#listed.resources;
  }
}
