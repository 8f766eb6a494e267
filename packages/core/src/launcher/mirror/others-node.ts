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
    /** Some of them make their nodes without a request: those of a launcher that is not yet registered may be ours. */
    readonly haveNodesOfTheirOwn: boolean;
  };
  /** An order of an operator limits a label or an image: nodes of any pool count. */
  readonly controls: { readonly limitsLabels: boolean };
  /** Other launchers have providers of this one, or may have. */
  readonly shared: { readonly sharesProviders: boolean };
}

/**
 * Whether what becomes of a node is the business of other launchers first, because no decision of this one depends on it
 * at once. A free node is everybody's: pools with free nodes come before others. So are all nodes where tenants or labels
 * have limits, where slots are made of machines of others, and those whose label this launcher keeps on standby.
 */
export function isOthersNode(node: NodeRecord, ownership: NodeOwnership): boolean {
  const { inForce, providers } = ownership;
  const config = inForce.config();
  return (
    node.provider !== null &&
    !config.providers.has(node.provider) &&
    providers.runnerOf(node) === undefined &&
    !isFree(node) &&
    !node.labels.some((label) => (config.labels.get(label)?.minReady ?? 0) > 0) &&
    !countsAllNodes(ownership)
  );
}

/**
 * Whether new records of others need not be read at once, whatever they say: none of them can be for a provider that this
 * launcher has, and none counts for a decision of its own. Not where nodes are kept on standby: those of others count.
 */
export function leavesNewRecords(ownership: NodeOwnership): boolean {
  const { inForce, providers, shared } = ownership;
  return (
    !providers.haveNodesOfTheirOwn &&
    !shared.sharesProviders &&
    !countsAllNodes(ownership) &&
    !keepsStandby(inForce.config().labels)
  );
}

const standby = new WeakMap<Config['labels'], boolean>();

function keepsStandby(labels: Config['labels']): boolean {
  let known = standby.get(labels);
  if (known === undefined) {
    known = [...labels.values()].some(({ minReady }) => minReady > 0);
    standby.set(labels, known);
  }
  return known;
}

/** Whether this launcher decides by what becomes of nodes of all kinds. */
export function countsAllNodes({ inForce, providers, controls }: NodeOwnership): boolean {
  return inForce.config().tenantLimits.size > 0 || controls.limitsLabels || providers.buildOnNodes;
}
