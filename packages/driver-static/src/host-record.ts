import { isDeepStrictEqual } from 'node:util';
import { newNode } from '@nodepool/zk-protocol';
import type { NodeFields, NodeRecord } from '@nodepool/zk-protocol';
import type { HostConfig, StaticPoolConfig } from './config.js';
import type { HostFacts } from './host-check.js';

/** A host with its provider and pool. */
export interface OfferedHost {
  readonly provider: string;
  readonly pool: StaticPoolConfig;
  readonly host: HostConfig;
}

/** Value of `launcher` in records of this driver. */
const LAUNCHER = 'static driver';

/** The record of a free slot. */
export function slotRecord(offer: OfferedHost, facts: HostFacts, slot: number, nowMs: number): NodeRecord {
  const { host, provider } = offer;
  return newNode(
    {
      state: 'ready',
      provider,
      launcher: LAUNCHER,
      externalId: host.name,
      hostname: host.name,
      interfaceIp: host.name,
      ...refreshedFields(offer, facts, slot),
    },
    nowMs,
  );
}

/**
 * Fields that bring a free record up to date; `undefined` if it is current. A changed address alone does not count:
 * otherwise the record of a name with several addresses would be rewritten after every check.
 */
export function staleFields(
  record: NodeRecord,
  offer: OfferedHost,
  facts: HostFacts,
  slot: number,
): NodeFields | undefined {
  const wanted = refreshedFields(offer, facts, slot);
  const isCurrent =
    record.pool === wanted.pool &&
    record.slot === slot &&
    record.username === wanted.username &&
    record.connectionPort === wanted.connectionPort &&
    record.connectionType === wanted.connectionType &&
    record.shellType === wanted.shellType &&
    record.pythonPath === wanted.pythonPath &&
    isDeepStrictEqual(record.labels, wanted.labels) &&
    isDeepStrictEqual(record.attributes, wanted.attributes) &&
    // Another launcher may store the same keys in a different order, or some twice.
    (isDeepStrictEqual(record.hostKeys, wanted.hostKeys) ||
      isDeepStrictEqual(new Set(record.hostKeys), new Set(wanted.hostKeys)));
  return isCurrent ? undefined : wanted;
}

/** The fields that follow the configuration and the last check of the host. */
function refreshedFields({ host, pool }: OfferedHost, facts: HostFacts, slot: number) {
  return {
    pool: pool.name,
    labels: host.labels,
    slot,
    username: host.username,
    connectionPort: host.port,
    connectionType: host.connectionType,
    shellType: host.shellType,
    pythonPath: host.pythonPath,
    publicIpv4: facts.publicIpv4,
    publicIpv6: facts.publicIpv6,
    hostKeys: facts.hostKeys,
    attributes: pool.nodeAttributes,
  } satisfies NodeFields;
}
