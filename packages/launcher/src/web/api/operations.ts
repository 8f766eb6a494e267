import type { JsonObject, RequestRecord } from '@nodepool/zk-protocol';
import { explanationToJson } from '@nodepool/core/service';
import {
  ApiError,
  listOf,
  orNull,
  record,
  ref,
  TEXT,
  WHOLE,
  type ApiCall,
  type ApiOperation,
  type ApiPart,
} from '@nodepool/daemon';
import { cancelRequest, changeNode } from './actions.js';
import { labelsToApi, poolsToApi } from './overview.js';
import { countNodes, PROVIDER_SCHEMA, providersToApi } from './providers.js';
import { componentToApi, nodeToApi, RECORD_SCHEMAS, requestToApi, waitingRequests } from './records.js';
import type { LauncherApiSources } from './sources.js';

const LABEL = record({
  ...{ label: TEXT, pools: listOf(TEXT), ready: WHOLE, building: WHOLE, in_use: WHOLE, hold: WHOLE, waiting: WHOLE },
  min_ready: orNull(WHOLE),
});
const EXPLANATION: JsonObject = {
  type: 'object',
  description: 'Why it is where it is, pool by pool, as /explain tells it',
  required: ['summary', 'state', 'pools', 'launches'],
};
const ID = { type: 'string', description: 'Id of the record' };
const filter = (description: string) => ({ type: 'string', description });
const NO_NODE = { 404: 'There is no such node' };
const NO_REQUEST = { 404: 'There is no such request' };

/** All operations of a launcher, those of images excepted. */
export function createLauncherApi(sources: LauncherApiSources): ApiPart {
  return {
    operations: [...nodeOperations(sources), ...requestOperations(sources), ...supplyOperations(sources)],
    schemas: { ...RECORD_SCHEMAS, Provider: PROVIDER_SCHEMA, Label: LABEL, Explanation: EXPLANATION },
  };
}

function listNodes({ runtime: { nodes } }: LauncherApiSources, { query }: ApiCall): JsonObject[] {
  const { state, provider, label } = query;
  const found: JsonObject[] = [];
  for (const node of nodes.values()) {
    if (state !== undefined && node.state !== state) continue;
    if (provider !== undefined && node.provider !== provider) continue;
    if (label !== undefined && !node.labels.includes(String(label))) continue;
    found.push(nodeToApi(node, nodes.contenders(node.id) > 0));
  }
  return found;
}

function nodeOperations(sources: LauncherApiSources): ApiOperation[] {
  const { zk, clock, hostname, runtime } = sources;
  const { nodes } = runtime;
  const actions = { zk, clock, hostname, nodes };
  const pathParameters = { id: ID };
  return [
    {
      ...{ id: 'listNodes', method: 'GET', path: '/nodes', summary: 'Nodes' },
      query: {
        state: filter('Only in this state'),
        provider: filter('Only of this provider'),
        label: filter('Only with this label'),
      },
      answer: listOf(ref('Node')),
      handle: (call) => listNodes(sources, call),
    },
    {
      ...{ id: 'getNode', method: 'GET', path: '/nodes/{id}', summary: 'One node', pathParameters },
      ...{ answer: ref('Node'), errors: NO_NODE },
      handle({ path: { id = '' } }) {
        const node = nodes.get(id);
        if (!node) throw new ApiError(404, 'unknown-node', `There is no node "${id}"`);
        return nodeToApi(node, nodes.contenders(id) > 0);
      },
    },
    {
      ...{ id: 'deleteNode', method: 'DELETE', path: '/nodes/{id}', summary: 'Delete a node', pathParameters },
      ...{ answer: ref('Node'), errors: { ...NO_NODE, 409: 'Somebody else keeps its lock' } },
      async handle({ path: { id = '' }, actor = '' }) {
        return nodeToApi(await changeNode(actions, id, { state: 'deleting', actor }), true);
      },
    },
    {
      ...{
        id: 'holdNode',
        method: 'POST',
        path: '/nodes/{id}/hold',
        summary: 'Keep a node for a person',
        pathParameters,
      },
      body: {
        type: 'object',
        additionalProperties: false,
        properties: {
          reason: { type: 'string', maxLength: 1_000, description: 'Shown as the comment of the node' },
          seconds: { type: 'integer', minimum: 1, description: 'How long; default: as max-hold-age says' },
        },
      },
      ...{ answer: ref('Node'), errors: { ...NO_NODE, 409: 'Somebody else keeps its lock' } },
      async handle({ path: { id = '' }, body, actor = '' }) {
        const { reason, seconds } = body as { reason?: string; seconds?: number };
        const comment = reason === undefined ? `held by ${actor}` : `held by ${actor}: ${reason}`;
        const holdMs = seconds === undefined ? undefined : seconds * 1000;
        return nodeToApi(await changeNode(actions, id, { state: 'hold', actor, comment, holdMs }), true);
      },
    },
  ];
}

function requestOperations(sources: LauncherApiSources): ApiOperation[] {
  const { zk, runtime } = sources;
  const { requests } = runtime;
  const pathParameters = { id: ID };
  const find = (id: string): RequestRecord => {
    const request = requests.get(id);
    if (!request) throw new ApiError(404, 'unknown-request', `There is no request "${id}"`);
    return request;
  };
  return [
    {
      ...{ id: 'listRequests', method: 'GET', path: '/requests', summary: 'Requests with their place in the queue' },
      query: { state: filter('Only in this state') },
      answer: listOf(ref('Request')),
      handle({ query: { state } }) {
        const places = new Map(waitingRequests(requests.values()).map(({ id }, index) => [id, index]));
        const found = [...requests.values()].filter((request) => state === undefined || request.state === state);
        return found.map((request) => requestToApi(request, places.get(request.id) ?? null));
      },
    },
    {
      ...{ id: 'getRequest', method: 'GET', path: '/requests/{id}', summary: 'One request, and why it waits' },
      pathParameters,
      ...{ answer: record({ request: ref('Request'), explanation: ref('Explanation') }), errors: NO_REQUEST },
      handle({ path: { id = '' } }) {
        const request = find(id);
        const place = waitingRequests(requests.values()).findIndex((other) => other.id === id);
        const explanation = runtime.explain({ requestId: id });
        if (!explanation) throw new ApiError(404, 'unknown-request', `There is no request "${id}"`);
        return {
          request: requestToApi(request, place < 0 ? null : place),
          explanation: explanationToJson(explanation),
        };
      },
    },
    {
      ...{ id: 'cancelRequest', method: 'DELETE', path: '/requests/{id}', summary: 'Cancel a request', pathParameters },
      ...{ answer: ref('Request'), errors: NO_REQUEST },
      async handle({ path: { id = '' } }) {
        const request = find(id);
        await cancelRequest(zk, id);
        return requestToApi(request, null);
      },
    },
  ];
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
      ...{ id: 'listLabels', method: 'GET', path: '/labels', summary: 'Labels: what there is, and who wants it' },
      answer: listOf(ref('Label')),
      handle: () => labelsToApi(sources),
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
