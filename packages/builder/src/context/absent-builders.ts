import {
  componentPath,
  componentsPath,
  decodeComponent,
  isNodepoolError,
  isZooKeeperError,
  textOf,
  type BuildRecord,
  type Clock,
  type ComponentRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';

const shortName = (hostname: string): string => hostname.split('.', 1)[0] ?? hostname;

/**
 * Follows which builders of the newest builds are not registered. Their builds cannot be uploaded, as the files are on their disks.
 * After a start, a builder counts as absent from the first check that does not find it.
 */
export class AbsentBuilders {
  #sinceMs = new Map<string, number>();

  constructor(
    private readonly context: {
      readonly zk: ZooKeeper;
      readonly clock: Pick<Clock, 'now'>;
      readonly logger: Logger;
      readonly builderId: string;
    },
  ) {}

  /** Since when the builder of a build is absent, in ms since the epoch; `undefined` if it is here, or not known to be absent. */
  sinceMs(build: BuildRecord | undefined): number | undefined {
    return build && this.#sinceMs.get(keyOf(build));
  }

  /** Compares the builders of builds with the registry. Keeps what it knows if the registry cannot be read. */
  async look(builds: readonly BuildRecord[]): Promise<void> {
    const { zk, clock, logger, builderId } = this.context;
    const foreign = builds.filter((build) => build.builderId !== builderId);
    try {
      const present = foreign.length === 0 ? [] : await registeredBuilders(zk);
      const absent = foreign.filter((build) => !present.some((component) => isBuilderOf(component, build)));
      this.#sinceMs = new Map(absent.map((build) => [keyOf(build), this.sinceMs(build) ?? clock.now()]));
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      logger.debug('Failed to read the registry of builders', { error });
    }
  }
}

const keyOf = ({ builderId, builder }: BuildRecord): string => builderId ?? builder ?? '';

/** Builders of the original and of earlier releases register without their id: then the name of the host counts. */
function isBuilderOf({ hostname, raw }: ComponentRecord, { builderId, builder }: BuildRecord): boolean {
  const id = textOf(raw['builder_id']);
  if (id !== undefined && builderId !== null) return id === builderId;
  return builder !== null && shortName(hostname) === shortName(builder);
}

async function registeredBuilders(zk: ZooKeeper): Promise<ComponentRecord[]> {
  const root = componentsPath('builder');
  const ids = (await zk.exists(root)) ? await zk.getChildren(root) : [];
  const found = await Promise.all(ids.map((id) => readBuilder(zk, id)));
  return found.flatMap((component) => component ?? []);
}

async function readBuilder(zk: ZooKeeper, id: string): Promise<ComponentRecord | undefined> {
  try {
    const { data, stat } = await zk.getData(componentPath('builder', id));
    return decodeComponent('builder', id, data, stat);
  } catch (error) {
    const isGoneOrDamaged =
      isZooKeeperError(error, 'ZK_NO_NODE') || (isNodepoolError(error) && !isZooKeeperError(error));
    if (isGoneOrDamaged) return undefined;
    throw error;
  }
}
