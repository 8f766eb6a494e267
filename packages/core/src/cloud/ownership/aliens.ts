import type { Clock } from '@nodepool/zk-protocol';
import type { AlienResource } from '../../contract/driver.js';
import { BUILD_ID_TAG, DATABASE_ID_TAG, NODE_ID_TAG, type Resource } from '../../contract/instance.js';
import type { Logger } from '../../contract/logger.js';

/** Maximum number of ids in a log line. */
const MOST_NAMED = 20;

/** Options of {@link Aliens}. */
export interface AliensOptions {
  readonly provider: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Tracks the alien resources of one provider. */
export class Aliens {
  readonly #options: AliensOptions;
  /** Found by the last search; `undefined` before the first one. */
  #seen: ReadonlyMap<string, AlienResource> | undefined;
  #reported: ReadonlyMap<string, AlienResource> = new Map();

  constructor(options: AliensOptions) {
    this.#options = options;
  }

  /** Reported resources. */
  get all(): readonly AlienResource[] {
    return [...this.#reported.values()];
  }

  /**
   * Stores the result of a search. After the first search, a resource is reported when found twice in a row: it may be going
   * together with its record. Logs changes.
   */
  saw(resources: readonly Resource[]): void {
    const before = this.#seen;
    const seen = new Map(
      resources.map((resource) => {
        const key = `${resource.type} ${resource.id}`;
        return [key, describeAlien(resource, before?.get(key)?.sinceMs ?? this.#options.clock.now())] as const;
      }),
    );
    this.#seen = seen;
    const reported = new Map([...seen].filter(([key]) => before?.has(key) ?? true));
    const isSame =
      reported.size === this.#reported.size && [...reported.keys()].every((key) => this.#reported.has(key));
    this.#reported = reported;
    if (!isSame) this.#log(reported);
  }

  #log(reported: ReadonlyMap<string, AlienResource>): void {
    const { logger, provider } = this.#options;
    if (reported.size === 0) {
      logger.info('All alien resources are gone');
      return;
    }
    const ofOtherDatabases = [...reported.values()].filter(({ databaseId }) => databaseId !== undefined).length;
    const fields = { count: reported.size, ofOtherDatabases, resources: [...reported.keys()].slice(0, MOST_NAMED) };
    const doubt = '; does this service use the wrong database (zookeeper-servers, --state-dir)?';
    logger.warn(
      'Resources carry the name of this provider but belong to no record of this database; they are not deleted: ' +
        `see "nodepool adopt ${provider}"${ofOtherDatabases === 0 ? '' : doubt}`,
      fields,
    );
  }
}

/** An alien resource for people. @param firstMs - when it was first found */
export function describeAlien({ type, id, name, metadata, createdMs }: Resource, firstMs: number): AlienResource {
  return {
    ...{ type, id, name },
    nodeId: metadata[NODE_ID_TAG],
    buildId: metadata[BUILD_ID_TAG],
    databaseId: metadata[DATABASE_ID_TAG],
    sinceMs: createdMs ?? firstMs,
  };
}
