import type { NodeRecord, Resources } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { Provider } from '../../contract/driver.js';

/** Whether work may begin. */
export interface Activity {
  /** Caches are complete, ZooKeeper answers, and the launcher has not been stopped. */
  readonly isActive: () => boolean;
}

/** The configuration in force. */
export interface ConfigSource {
  readonly config: () => Config;
  /** Labels with `min-ready: -1`. */
  readonly disabledLabels: () => ReadonlySet<string>;
  readonly tenantLimit: (tenant: string) => Resources | undefined;
}

/** The running providers, as those who look after nodes see them. */
export interface NodeProviders {
  /** The provider of a node, configured or draining; `undefined` when this launcher does not have it. */
  readonly providerOf: (node: NodeRecord) => Provider | undefined;
}

/** Takes nodes away that are in the way. */
export interface NodeRemoval {
  /** Deletes a free node if it still is one. */
  readonly releaseNode: (node: NodeRecord, why: string) => void;
}
