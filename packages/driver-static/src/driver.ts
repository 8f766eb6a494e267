import type { Driver, ProviderConfig, ChangePreview } from '@nodepool/core';
import { isFree, type NodeRecord } from '@nodepool/zk-protocol';
import { checkIdentities, readProviderConfig, hostIdentity } from './config.js';
import type { StaticProviderConfig } from './config.js';
import { StaticProvider } from './provider.js';
import { schema } from './schema.js';
import { SlotIndex } from './slot-index.js';
import { planSlots } from './slot-plan.js';

/** Lends a fixed list of machines: registers each before any request, and returns it to the pool unchanged. */
export const driver: Driver = {
  name: 'static',
  apiVersion: 1,
  capabilities: { launches: false, pausesAtQuota: false, managesImages: false },
  schema,
  getProviderConfig: readProviderConfig,
  getProvider: (config, context) => new StaticProvider(ownConfig(config), context),
  previewChange: (config, nodes) => previewChange(ownConfig(config), nodes),
  checkAll: (configs, problem) => checkIdentities(configs.map(ownConfig), problem),
};

/** The launcher passes back the object that `getProviderConfig` returned. */
function ownConfig(config: ProviderConfig): StaticProviderConfig {
  if (!isOwn(config)) throw new TypeError(`provider "${config.name}" is not configured for driver "static"`);
  return config;
}

function isOwn(config: ProviderConfig): config is StaticProviderConfig {
  return config.driverName === 'static';
}

/** Slots that a configuration would register and records that it would delete, if all hosts answer. */
function previewChange(config: StaticProviderConfig, nodes: readonly NodeRecord[]): ChangePreview {
  const index = new SlotIndex(config.name);
  for (const node of nodes) index.apply({ id: node.id, before: undefined, after: node });
  const hosts = [...config.pools.values()].flatMap((pool) => pool.hosts);
  const configured = new Set(hosts.map(hostIdentity));
  const register: ChangePreview['register'][number][] = [];
  const deleted: ChangePreview['delete'][number][] = [];
  for (const host of hosts) {
    const { slots, excess } = planSlots(index.recordsOf(hostIdentity(host)), host.maxParallelJobs);
    const count = slots.filter((slot) => slot === undefined).length;
    if (count > 0) register.push({ what: host.name, labels: host.labels, count });
    for (const record of excess) deleted.push(removal(record, 'the host has no such slot'));
  }
  for (const identity of index.identities()) {
    if (configured.has(identity)) continue;
    for (const record of index.recordsOf(identity)) deleted.push(removal(record, 'the host is not configured'));
  }
  return { register, delete: deleted };
}

function removal(record: NodeRecord, why: string): ChangePreview['delete'][number] {
  const name = record.hostname ?? 'unknown host';
  const later = isFree(record) ? '' : `, once it is no longer ${record.state}`;
  return { node: record.id, why: `${why} (${name}${later})` };
}
