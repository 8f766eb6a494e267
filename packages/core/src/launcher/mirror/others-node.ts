import { isFree, type NodeRecord } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';

/** By what it is told whose a node is. */
export interface NodeOwnership {
  readonly inForce: { config(): Pick<Config, 'labels' | 'providers' | 'tenantLimits'> };
  readonly providers: {
    /** Defined for nodes of providers that this launcher has, configured or draining. */
    runnerOf(node: NodeRecord): unknown;
    /** Some of them make slots of machines that other providers have, perhaps of other launchers. */
    readonly buildOnNodes: boolean;
  };
  /** An order of an operator limits a label or an image: nodes of any pool count. */
  readonly controls: { readonly limitsLabels: boolean };
}

/**
 * Whether what becomes of a node is the business of other launchers first, because no decision of this one depends on it
 * at once. A free node is everybody's: pools with free nodes come before others. So are all nodes where tenants or labels
 * have limits, where slots are made of machines of others, and those whose label this launcher keeps on standby.
 */
export function isOthersNode(node: NodeRecord, { inForce, providers, controls }: NodeOwnership): boolean {
  const config = inForce.config();
  return (
    node.provider !== null &&
    !config.providers.has(node.provider) &&
    providers.runnerOf(node) === undefined &&
    !isFree(node) &&
    !node.labels.some((label) => (config.labels.get(label)?.minReady ?? 0) > 0) &&
    config.tenantLimits.size === 0 &&
    !controls.limitsLabels &&
    !providers.buildOnNodes
  );
}
