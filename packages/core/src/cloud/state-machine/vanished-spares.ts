import { isStopped, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { ProviderContext } from '../../contract/driver.js';
import type { Instance } from '../../contract/instance.js';
import type { Logger } from '../../contract/logger.js';
import type { InstanceList } from '../operations/instance-list.js';

/** What a look at the stopped nodes of a provider needs. */
export interface VanishedSparesOptions {
  readonly context: Pick<ProviderContext, 'ownNodes' | 'withdrawNode'>;
  readonly logger: Logger;
  readonly instances: Pick<InstanceList, 'list' | 'mark'>;
}

/**
 * Withdraws stopped nodes whose instance the cloud has deleted: no launcher would notice before a request needs them. An instance must be
 * missing at two looks, as a list may be incomplete.
 */
export class VanishedSpares {
  readonly #options: VanishedSparesOptions;
  #missing: ReadonlySet<NodeId> = new Set();

  constructor(options: VanishedSparesOptions) {
    this.#options = options;
  }

  async look(signal: AbortSignal): Promise<void> {
    const { context, logger, instances } = this.#options;
    const stopped = [...context.ownNodes()].filter(isStopped);
    const missing = stopped.length === 0 ? [] : missingOf(stopped, await instances.list(instances.mark(), signal));
    for (const { id, externalId } of missing) {
      if (!this.#missing.has(id)) continue;
      const why = 'its stopped instance does not exist any more';
      if (await context.withdrawNode?.(id, why)) logger.warn('Withdrawing a node', { nodeId: id, externalId, why });
    }
    this.#missing = new Set(missing.map(({ id }) => id));
  }
}

function missingOf(nodes: readonly NodeRecord[], shown: readonly Instance[]): NodeRecord[] {
  const present = new Set(shown.flatMap(({ externalId, deleted }) => (deleted ? [] : [externalId])));
  return nodes.filter(({ externalId }) => typeof externalId === 'string' && !present.has(externalId));
}
