import { DRIVER_API_VERSION } from '@nodepool/core';
import type { Driver, ProviderConfig, ProblemReporter, ChangePreview } from '@nodepool/core';
import { isFree, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { readProviderConfig, settingsOf } from './config.js';
import type { MetastaticProviderConfig, MetastaticLabelConfig } from './config.js';
import { MetastaticProvider } from './provider.js';
import { schema } from './schema.js';
import { identityOf, parseBackingData, placeOf } from './user-data.js';

/** Divides nodes of other providers into slots, so that each serves several jobs at the same time. */
export const driver: Driver = {
  name: 'metastatic',
  apiVersion: DRIVER_API_VERSION,
  capabilities: {
    ...{ launches: true, pausesAtQuota: true, managesImages: false },
    ...{ rampsLaunches: false, recordsOnly: true },
  },
  schema,
  getProviderConfig: readProviderConfig,
  checkAll: (configs, problem) => checkCycles(configs.map(ownConfig), problem),
  previewChange: (config, nodes, all) => previewChange(ownConfig(config), nodes, all),
  getProvider: (config, context) => new MetastaticProvider(ownConfig(config), context),
};

/** The launcher passes back the object that `getProviderConfig` returned. */
function ownConfig(config: ProviderConfig): MetastaticProviderConfig {
  if (!isOwn(config)) throw new TypeError(`provider "${config.name}" is not configured for driver "metastatic"`);
  return config;
}

function isOwn(config: ProviderConfig): config is MetastaticProviderConfig {
  return config.driverName === 'metastatic';
}

interface Offer {
  readonly provider: string;
  readonly label: MetastaticLabelConfig;
}

/**
 * Reports cycles of labels and backing labels, across any number of providers: a request for such a label would request
 * backing nodes endlessly. Each cycle is reported once, at the entry that closes it.
 */
function checkCycles(configs: readonly MetastaticProviderConfig[], problem: ProblemReporter): void {
  const offers = new Map<string, Offer[]>();
  for (const { name: provider, pools } of configs) {
    for (const pool of pools.values()) {
      for (const label of pool.labels.values()) {
        // already reported by the configuration reader
        if (label.backingLabel === label.name) continue;
        const others = offers.get(label.name) ?? [];
        offers.set(label.name, [...others, { provider, label }]);
      }
    }
  }
  const done = new Set<string>();
  for (const name of offers.keys()) visit(name, [], { offers, done, problem });
}

interface Search {
  readonly offers: ReadonlyMap<string, readonly Offer[]>;
  readonly done: Set<string>;
  readonly problem: ProblemReporter;
}

function visit(name: string, way: readonly Offer[], search: Search): void {
  if (search.done.has(name)) return;
  for (const offer of search.offers.get(name) ?? []) {
    const { backingLabel } = offer.label;
    const next = [...way, offer];
    const start = next.findIndex(({ label }) => label.name === backingLabel);
    if (start >= 0) report(next.slice(start), search.problem);
    else visit(backingLabel, next, search);
  }
  search.done.add(name);
}

function report(cycle: readonly Offer[], problem: ProblemReporter): void {
  const last = cycle.at(-1);
  if (!last) return;
  const { provider, label } = last;
  const steps = cycle.map((each) => `"${each.label.name}" (provider "${each.provider}")`).join(' on ');
  problem(
    provider,
    [...label.path, 'backing-label'],
    `backing label "${label.backingLabel}" leads back to label "${label.backingLabel}": ${steps} on "${label.backingLabel}": ` +
      'each request would ask for backing nodes without end; name a label of a provider that makes machines',
  );
}

/** Backing nodes that a configuration would return, and free slots that it would delete. */
export function previewChange(
  config: MetastaticProviderConfig,
  nodes: readonly NodeRecord[],
  all: readonly NodeRecord[],
): ChangePreview {
  const owner = identityOf(config.name);
  const slots = new Map<NodeId, NodeRecord[]>();
  for (const node of nodes) {
    const place = placeOf(node);
    if (place) slots.set(place.backingNode, [...(slots.get(place.backingNode) ?? []), node]);
  }
  const deleted: ChangePreview['delete'][number][] = [];
  for (const node of all) {
    const data = node.state === 'in-use' ? parseBackingData(node.userData, owner) : undefined;
    if (!data || settingsOf(config, data.label)) continue;
    const taken = slots.get(node.id) ?? [];
    const free = taken.filter(isFree);
    const used = taken.length - free.length;
    const later = used === 0 ? '' : `, once ${used === 1 ? 'the slot' : `the ${used} slots`} in use on it ended`;
    deleted.push({
      node: node.id,
      why: `backing node of label "${data.label}", which is removed: returned to "${node.provider}"${later}`,
    });
    for (const { id } of free)
      deleted.push({ node: id, why: `free slot on backing node ${node.id}, which is returned` });
  }
  return { register: [], delete: deleted, leavesOthers: true };
}
