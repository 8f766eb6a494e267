import type { JsonObject } from '@nodepool/zk-protocol';
import {
  listOf,
  NUMBER,
  orNull,
  record,
  ref,
  TEXT,
  TIME,
  WHOLE,
  type ApiOperation,
  type ApiPart,
} from '@nodepool/daemon';
import { userOf } from '@nodepool/core/service';
import { CONTROL_SCHEMA, controlOperations } from './controls.js';
import { historyOperations, TIMELINE_SCHEMAS } from './history-operations.js';
import { leaseOperations } from './lease-operations.js';
import { LEASE_SCHEMAS } from './lease-schemas.js';
import { nodeOperations } from './node-operations.js';
import { labelsWithConditions, poolsToApi } from './overview.js';
import { countNodes, PROVIDER_SCHEMA, providersToApi } from './providers.js';
import { componentToApi, RECORD_SCHEMAS } from './records.js';
import { requestOperations } from './request-operations.js';
import type { LauncherApiSources } from './sources.js';
import { USAGE_SCHEMAS, usageOperation } from './usage-operation.js';

const LABEL = record({
  ...{ label: TEXT, pools: listOf(TEXT), ready: WHOLE, building: WHOLE, in_use: WHOLE, hold: WHOLE, waiting: WHOLE },
  ...{ min_ready: orNull(WHOLE), conditions: listOf(ref('Condition')) },
  takes_ssh_key: { type: 'boolean', description: 'Leases of its nodes may have an `ssh_key`' },
  lendable: { type: 'boolean', description: 'Its nodes may be leased: none of its pools keeps them from lessees' },
  usual_wait: orNull({
    ...NUMBER,
    description:
      'Median wait of the last 20 requests for this label alone that found no node ready, seconds; null: none since this launcher started',
  }),
});
const EXPLANATION: JsonObject = {
  type: 'object',
  description: 'Status of the request in each pool, as in /explain',
  required: ['summary', 'state', 'pools', 'launches', 'conditions'],
};

/** All operations of a launcher, except those of images. */
export function createLauncherApi(sources: LauncherApiSources): ApiPart {
  const { lending } = sources;
  return {
    operations: [
      ...nodeOperations(sources),
      ...requestOperations(sources),
      ...(lending ? leaseOperations({ ...sources, ...lending }) : []),
      ...supplyOperations(sources),
      listHosts(sources),
      ...controlOperations(sources),
      ...historyOperations(sources),
      usageOperation(sources),
      ...sources.more.flatMap(({ operations }) => operations),
    ],
    schemas: {
      ...RECORD_SCHEMAS,
      ...TIMELINE_SCHEMAS,
      ...USAGE_SCHEMAS,
      ...Object.fromEntries(sources.more.flatMap(({ schemas }) => Object.entries(schemas))),
      ...(lending && LEASE_SCHEMAS),
      Provider: PROVIDER_SCHEMA,
      Host: HOST_SCHEMA,
      Label: LABEL,
      Control: CONTROL_SCHEMA,
      Explanation: EXPLANATION,
    },
  };
}

function supplyOperations(sources: LauncherApiSources): ApiOperation[] {
  const { runtime } = sources;
  return [
    {
      ...{ id: 'listPools', method: 'GET', path: '/pools', summary: 'Pools with quota, use and reservations' },
      answer: listOf(ref('Pool')),
      handle: () => poolsToApi(sources),
    },
    {
      ...{ id: 'listLabels', method: 'GET', path: '/labels', summary: 'Labels: supply and demand' },
      answer: listOf(ref('Label')),
      handle: () => labelsWithConditions(sources),
    },
    {
      ...{
        id: 'listProviders',
        method: 'GET',
        path: '/providers',
        summary: 'Providers: health, last errors, API rate',
      },
      answer: listOf(ref('Provider')),
      handle: () => providersToApi(sources, countNodes(runtime.nodes.values()).byProvider),
    },
    {
      ...{
        id: 'listComponents',
        method: 'GET',
        path: '/components',
        summary: 'Registered launchers, builders and pools',
      },
      answer: listOf(ref('Component')),
      handle: () => [...runtime.allComponents].map(componentToApi),
    },
  ];
}

const SLOT = record({
  ...{ node: TEXT, state: TEXT, user: orNull({ ...TEXT, description: 'Name of its user; null if unused' }) },
});

/** Schema of a host. */
const HOST_SCHEMA = record({
  ...{ provider: TEXT, pool: TEXT, host: TEXT, port: WHOLE, username: TEXT, labels: listOf(TEXT), slots: WHOLE },
  health: { ...TEXT, description: 'up, down, unknown: not checked yet, or trusted: never contacted' },
  ...{ reason: orNull(TEXT), message: orNull(TEXT), last_check: orNull(TIME), down_since: orNull(TIME) },
  nodes: listOf(SLOT),
});

const seconds = (ms: number | undefined) => (ms === undefined ? null : ms / 1000);

/** Lists the static hosts of this launcher; hosts that are down come first. */
function hostsToApi({ runtime }: Pick<LauncherApiSources, 'runtime'>): JsonObject[] {
  const rows = runtime.hosts.map(({ nodes, lastCheckMs, downSinceMs, reason, message, labels, ...host }) => ({
    ...host,
    labels: [...labels],
    ...{ reason: reason ?? null, message: message ?? null },
    ...{ last_check: seconds(lastCheckMs), down_since: seconds(downSinceMs) },
    nodes: nodes.map((node) => ({ node: node.id, state: node.state, user: userOf(node) })),
  }));
  return rows.sort((a, b) => Number(b.health === 'down') - Number(a.health === 'down'));
}

/** The operation that lists hosts. */
function listHosts(sources: LauncherApiSources): ApiOperation {
  return {
    ...{ id: 'listHosts', method: 'GET', path: '/hosts', summary: 'Static hosts: health, last check, users' },
    answer: listOf(ref('Host')),
    handle: () => hostsToApi(sources),
  };
}
