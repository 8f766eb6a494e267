import type { JsonObject } from '@nodepool/zk-protocol';
import { listOf, NUMBER, orNull, record, ref, TEXT, WHOLE, type ApiOperation, type ApiPart } from '@nodepool/daemon';
import { CONTROL_SCHEMA, controlOperations } from './controls.js';
import { historyOperations, TIMELINE_SCHEMAS } from './history-operations.js';
import { HOST_SCHEMA, listHosts } from './hosts.js';
import { LEASE_SCHEMAS, leaseOperations } from './lease-operations.js';
import { nodeOperations } from './node-operations.js';
import { labelsWithConditions, poolsToApi } from './overview.js';
import { countNodes, PROVIDER_SCHEMA, providersToApi } from './providers.js';
import { componentToApi, RECORD_SCHEMAS } from './records.js';
import { requestOperations } from './request-operations.js';
import type { LauncherApiSources, LeaseApiSources } from './sources.js';

const LABEL = record({
  ...{ label: TEXT, pools: listOf(TEXT), ready: WHOLE, building: WHOLE, in_use: WHOLE, hold: WHOLE, waiting: WHOLE },
  ...{ min_ready: orNull(WHOLE), conditions: listOf(ref('Condition')) },
  takes_ssh_key: { type: 'boolean', description: 'Leases of its nodes may have an `ssh_key`' },
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
export function createLauncherApi(sources: LeaseApiSources): ApiPart {
  return {
    operations: [
      ...nodeOperations(sources),
      ...requestOperations(sources),
      ...leaseOperations(sources),
      ...supplyOperations(sources),
      listHosts(sources),
      ...controlOperations(sources),
      ...historyOperations(sources),
    ],
    schemas: {
      ...RECORD_SCHEMAS,
      ...TIMELINE_SCHEMAS,
      ...LEASE_SCHEMAS,
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
