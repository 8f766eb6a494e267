import { NODE_ID_TAG, POOL_TAG, PROVIDER_TAG } from '@nodepool/core';
import type { PoolConfig } from '@nodepool/core';
import type { JsonObject, NodeFields, NodeRecord } from '@nodepool/zk-protocol';

/** What a slot node takes over from its backing node, with the state that makes it ready. */
export function readySlotFields(
  node: NodeRecord,
  backing: NodeRecord,
  slot: number,
  pool: PoolConfig,
  hostKeys: readonly string[] | undefined,
): NodeFields {
  const { interfaceIp, publicIpv4, publicIpv6, privateIpv4, az, region, cloud } = backing;
  const { username, pythonPath, shellType, connectionPort, connectionType } = backing;
  return {
    ...{ interfaceIp, publicIpv4, publicIpv6, privateIpv4, az, region, cloud },
    ...{ username, pythonPath, shellType, connectionPort, connectionType },
    state: 'ready',
    externalId: node.id,
    hostId: null,
    imageId: 'unused',
    hostKeys: hostKeys ?? backing.hostKeys,
    attributes: mergeAttributes(backing.attributes, pool.nodeAttributes),
    resources: { cores: 0, instances: 1, ram: 0 },
    slot,
    driverData: {
      metadata: {
        [NODE_ID_TAG]: node.id,
        [POOL_TAG]: pool.name,
        [PROVIDER_TAG]: node.provider ?? '',
      },
      backing_node: backing.id,
      slot,
      node: node.id,
    },
  };
}

/** The backing node's attributes are defaults; those of the slot's pool override them by top-level key. */
function mergeAttributes(defaults: JsonObject | null, own: JsonObject | null): JsonObject | null {
  if (defaults === null) return own;
  return own === null ? defaults : { ...defaults, ...own };
}
