import { NODE_STATES, type JsonObject } from '@nodepool/zk-protocol';
import { ApiError, listOf, ref, type ApiCall, type ApiOperation } from '@nodepool/daemon';
import { changeNode } from './actions.js';
import { filter, ID, requireState } from './parameters.js';
import { mapEach, nodeToApi } from './records.js';
import type { LauncherApiSources } from './sources.js';

const NO_NODE = { 404: 'There is no such node' };

function listNodes({ runtime: { nodes } }: LauncherApiSources, { query }: ApiCall): Iterable<JsonObject> {
  const { state, provider, label } = query;
  requireState(state, NODE_STATES, nodes.values());
  const found = [...nodes.values()]
    .filter((node) => state === undefined || node.state === state)
    .filter((node) => provider === undefined || node.provider === provider)
    .filter((node) => label === undefined || node.labels.includes(String(label)))
    .map((node) => ({ node, locked: nodes.contenders(node.id) > 0 }));
  return mapEach(found, ({ node, locked }) => nodeToApi(node, locked));
}

/** Operations that read nodes, and those that change one. */
export function nodeOperations(sources: LauncherApiSources): ApiOperation[] {
  return [...nodeReads(sources), deleteNode(sources), holdNode(sources)];
}

function nodeReads(sources: LauncherApiSources): ApiOperation[] {
  const { nodes } = sources.runtime;
  return [
    {
      ...{ id: 'listNodes', method: 'GET', path: '/nodes', summary: 'Nodes' },
      query: {
        state: filter(`Only in this state: ${NODE_STATES.join(', ')}`),
        provider: filter('Only of this provider'),
        label: filter('Only with this label'),
      },
      answer: listOf(ref('Node')),
      handle: (call) => listNodes(sources, call),
    },
    {
      ...{ id: 'getNode', method: 'GET', path: '/nodes/{id}', summary: 'One node', pathParameters: { id: ID } },
      ...{ answer: ref('Node'), errors: NO_NODE },
      handle({ path: { id = '' } }) {
        const node = nodes.get(id);
        if (!node) throw new ApiError(404, 'unknown-node', `There is no node "${id}"`);
        return nodeToApi(node, nodes.contenders(id) > 0);
      },
    },
  ];
}

function deleteNode(sources: LauncherApiSources): ApiOperation {
  return {
    ...{
      id: 'deleteNode',
      method: 'DELETE',
      path: '/nodes/{id}',
      summary: 'Delete a node',
      pathParameters: { id: ID },
    },
    ...{ answer: ref('Node'), errors: { ...NO_NODE, 409: 'Somebody else keeps its lock' } },
    async handle({ path: { id = '' }, actor = '' }) {
      return nodeToApi(await changeNode(actionsOf(sources), id, { state: 'deleting', actor }), true);
    },
  };
}

function holdNode(sources: LauncherApiSources): ApiOperation {
  return {
    ...{
      id: 'holdNode',
      method: 'POST',
      path: '/nodes/{id}/hold',
      summary: 'Keep a node for a person',
      pathParameters: { id: ID },
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
      return nodeToApi(await changeNode(actionsOf(sources), id, { state: 'hold', actor, comment, holdMs }), true);
    },
  };
}

function actionsOf({ zk, clock, hostname, runtime: { nodes } }: LauncherApiSources) {
  return { zk, clock, hostname, nodes };
}
