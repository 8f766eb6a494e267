import type { NodeRecord } from '@nodepool/zk-protocol';
import type { ChangePreview } from '../../contract/driver.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import { ageLimitOf } from '../plan/nodes.js';
import type { ConfigChange, ConfigChangeInput } from './types.js';

type NodeChanges = Pick<ConfigChange, 'register' | 'delete' | 'kept'>;
type Kept = ConfigChange['kept'][number];

/** Nodes that a new configuration would create or delete, and those it would keep although nothing creates them any more. */
export function planNodeChanges(input: ConfigChangeInput): NodeChanges {
  const { after, nodes } = input;
  const byProvider = groupBy(nodes, (node) => node.provider ?? '');
  const nodesOf = (provider: string) => byProvider.get(provider) ?? [];
  const register: NodeChanges['register'][number][] = [];
  const deleted: NodeChanges['delete'][number][] = [];
  const kept: Kept[] = [];
  const take = (provider: string, preview: ChangePreview | undefined) => {
    for (const item of preview?.register ?? []) register.push({ ...item, provider });
    for (const item of preview?.delete ?? []) deleted.push({ ...item, provider });
  };
  for (const config of after.providers.values()) {
    const preview = input.preview(config, nodesOf(config.name), nodes);
    take(config.name, preview);
    if (preview && preview.leavesOthers !== true) continue;
    const named = new Set(preview?.delete.map(({ node }) => node));
    kept.push(
      ...strayNodes(
        config,
        nodesOf(config.name).filter(({ id }) => !named.has(id)),
      ),
    );
  }
  for (const name of removedProviders(input)) {
    const config = input.before?.providers.get(name);
    const preview = config && input.preview({ ...config, pools: new Map() }, nodesOf(name), nodes);
    take(name, preview);
    const named = new Set(preview?.delete.map(({ node }) => node));
    const count = nodesOf(name).filter(({ id }) => !named.has(id)).length;
    if (count > 0) kept.push({ name, count, text: REMOVED_PROVIDER });
  }
  const named = new Set(deleted.map(({ node }) => node));
  deleted.push(...planExpiry(input).filter(({ node }) => !named.has(node)));
  return { register, delete: deleted, kept };
}

function removedProviders({ before, offerBefore, offerAfter }: ConfigChangeInput): string[] {
  const served = new Set(offerAfter.registered.map((pool) => pool.providerName));
  const known = [...(before?.providers.keys() ?? []), ...offerBefore.registered.map((pool) => pool.providerName)];
  return [...new Set(known)].filter((name) => !served.has(name));
}

const REMOVED_PROVIDER =
  'the provider is removed but its nodes stay until they are no longer used: the running launchers delete each one ' +
  'then, free ones after a minute. Reload, do not restart: a launcher that starts without the provider ' +
  'never deletes its nodes';
const REMOVED_POOL = 'the pool is removed';
const REMOVED_LABEL = 'the pool loses their label';
const FATE =
  ': those in use are deleted when they are given back; free ones, which serve no request any more, stay until ' +
  'max-ready-age or "nodepool delete"';

/** Nodes of pools and labels that a configuration no longer has. */
function strayNodes(config: ProviderConfig, nodes: readonly NodeRecord[]): Kept[] {
  const ofPool = nodes.filter((node) => node.pool !== null && !config.pools.has(node.pool));
  const ofLabel = nodes.filter((node) => {
    const pool = node.pool === null ? undefined : config.pools.get(node.pool);
    return pool !== undefined && !node.labels.some((label) => pool.labels.has(label));
  });
  const groups = [
    { text: REMOVED_POOL + FATE, members: groupBy(ofPool, (node) => `${config.name}/${node.pool}`) },
    {
      text: REMOVED_LABEL + FATE,
      members: groupBy(ofLabel, (node) => `${config.name}/${node.pool} (${node.labels.join(', ')})`),
    },
  ];
  return groups.flatMap(({ text, members }) =>
    [...members].map(([name, { length }]) => ({ name, count: length, text })),
  );
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** Free nodes that a new `max-ready-age`, and held ones that a new `max-hold-age`, would delete at once. */
function planExpiry({ before, after, nodes, nowMs }: ConfigChangeInput): ConfigChange['delete'][number][] {
  const deleted: ConfigChange['delete'][number][] = [];
  for (const node of nodes) {
    const ageMs = nowMs - node.stateTimeMs;
    const limit = ageLimitOf(node, after);
    if (limit === undefined || node.provider === null || !after.providers.has(node.provider)) continue;
    const isLate = ageMs > limit.ms;
    const wasLate = before !== undefined && ageMs > (ageLimitOf(node, before)?.ms ?? Infinity);
    if (!isLate || wasLate) continue;
    const why = `${node.state} for ${Math.round(ageMs / 1000)} s, ${limit.key} would be ${limit.ms / 1000} s`;
    deleted.push({ node: node.id, provider: node.provider, why });
  }
  return deleted;
}
