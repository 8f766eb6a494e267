import {
  leaseHolding,
  decodeNode,
  encodeNode,
  isNodepoolError,
  isZooKeeperError,
  NODE_STATES,
  nodeLockPath,
  nodePath,
  withNode,
  ZkLock,
  type JsonObject,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { ApiError, listOf, ref, type ApiCall, type ApiOperation } from '@nodepool/daemon';
import { filter, ID, requireState } from './parameters.js';
import { mapEach, nodeToApi } from './records.js';
import type { LauncherApiSources } from './sources.js';

/** Maximum wait for another process to release a node. */
const LOCK_TIMEOUT_MS = 5_000;
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

/** Operations that read and change nodes. */
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
    ...{ answer: ref('Node'), errors: { ...NO_NODE, 409: 'Another process holds its lock' } },
    async handle({ path: { id = '' }, actor = '' }) {
      return nodeToApi(await changeNode(sources, id, { state: 'deleting', actor }), true);
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
        seconds: { type: 'integer', minimum: 1, description: 'Duration; default max-hold-age' },
      },
    },
    ...{ answer: ref('Node'), errors: { ...NO_NODE, 409: 'Another process holds its lock, or a lease has it' } },
    async handle({ path: { id = '' }, body, actor = '' }) {
      const { reason, seconds } = body as { reason?: string; seconds?: number };
      const comment = reason === undefined ? `held by ${actor}` : `held by ${actor}: ${reason}`;
      const holdMs = seconds === undefined ? undefined : seconds * 1000;
      return nodeToApi(await changeNode(sources, id, { state: 'hold', actor, comment, holdMs }), true);
    },
  };
}

/** @throws ApiError 409 the node is lent to a lease, with which a hold would end */
export function refuseLent(node: NodeRecord): void {
  const lease = leaseHolding(node);
  if (lease === undefined) return;
  const why = 'its owner keeps it by renewing the lease';
  throw new ApiError(409, 'leased', `Node ${node.id} is lent to lease ${lease}, and returned with it: ${why}`);
}

/** A change of a node by an operator. */
interface NodeAction {
  readonly state: 'hold' | 'deleting';
  readonly actor: string;
  readonly comment?: string | undefined;
  /** Duration of the hold; `undefined`: `max-hold-age`. */
  readonly holdMs?: number | undefined;
}

/**
 * Changes a node's state under its lock, as `nodepool hold` and `nodepool delete` do.
 * @throws ApiError 404 unknown, 409 another process keeps its lock
 */
async function changeNode(sources: LauncherApiSources, id: string, action: NodeAction): Promise<NodeRecord> {
  const { zk, clock, hostname, runtime } = sources;
  const { nodes } = runtime;
  const unknown = () => new ApiError(404, 'unknown-node', `There is no node "${id}"`);
  if (!nodes.get(id)) throw unknown();
  const lock = new ZkLock(zk, nodeLockPath(id as NodeId), { identifier: `web:${action.actor}@${hostname}`, clock });
  try {
    await lock.acquire({ timeoutMs: LOCK_TIMEOUT_MS });
  } catch (error) {
    if (!isNodepoolError(error, 'NODEPOOL_LOCK_TIMEOUT')) throw error;
    const who = nodes.get(id)?.allocatedTo;
    const holder = who ? `; it is allocated to request ${who}` : '';
    throw new ApiError(409, 'locked', `Node ${id} is locked by another process${holder}: retry when it is returned`);
  }
  try {
    const { data, stat } = await zk.getData(nodePath(id as NodeId));
    const node = decodeNode(id as NodeId, data, stat, clock.now());
    if (!node) throw unknown();
    if (action.state === 'hold') refuseLent(node);
    const hold = {
      ...(action.comment !== undefined && { comment: action.comment }),
      ...(action.holdMs !== undefined && { holdExpirationMs: action.holdMs }),
    };
    const changed = withNode(node, { state: action.state, ...hold }, clock.now(), 'operator');
    await zk.setData(nodePath(node.id), encodeNode(changed), node.stat?.version);
    return changed;
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) throw unknown();
    if (isZooKeeperError(error, 'ZK_BAD_VERSION')) {
      throw new ApiError(409, 'changed', `Node ${id} was changed meanwhile: retry`);
    }
    throw error;
  } finally {
    await lock.release();
  }
}
