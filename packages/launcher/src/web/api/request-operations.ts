import {
  isZooKeeperError,
  REQUEST_STATES,
  requestPath,
  type RequestId,
  type RequestRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { explanationToJson } from '@nodepool/core/service';
import { ApiError, listOf, record, ref, type ApiOperation } from '@nodepool/daemon';
import { filter, ID, requireState } from './parameters.js';
import { mapEach, requestToApi, waitingRequests } from './records.js';
import type { LauncherApiSources } from './sources.js';

const NO_REQUEST = { 404: 'There is no such request' };

/** Operations that read and cancel requests. */
export function requestOperations(sources: LauncherApiSources): ApiOperation[] {
  return [listRequests(sources), getRequest(sources), cancel(sources)];
}

function find({ runtime: { requests } }: LauncherApiSources, id: string): RequestRecord {
  const request = requests.get(id);
  if (!request) throw new ApiError(404, 'unknown-request', `There is no request "${id}"`);
  return request;
}

function listRequests(sources: LauncherApiSources): ApiOperation {
  const { requests } = sources.runtime;
  return {
    ...{ id: 'listRequests', method: 'GET', path: '/requests', summary: 'Requests with their position in the queue' },
    query: { state: filter(`Only in this state: ${REQUEST_STATES.join(', ')}`) },
    answer: listOf(ref('Request')),
    handle({ query: { state } }) {
      requireState(state, REQUEST_STATES, requests.values());
      const places = new Map(waitingRequests(requests.values()).map(({ id }, index) => [id, index]));
      const found = [...requests.values()].filter((request) => state === undefined || request.state === state);
      return mapEach(found, (request) => requestToApi(request, places.get(request.id) ?? null));
    },
  };
}

function getRequest(sources: LauncherApiSources): ApiOperation {
  const { runtime } = sources;
  return {
    ...{ id: 'getRequest', method: 'GET', path: '/requests/{id}', summary: 'One request, and why it waits' },
    pathParameters: { id: ID },
    ...{ answer: record({ request: ref('Request'), explanation: ref('Explanation') }), errors: NO_REQUEST },
    handle({ path: { id = '' } }) {
      const request = find(sources, id);
      const place = waitingRequests(runtime.requests.values()).findIndex((other) => other.id === id);
      const explanation = runtime.explain({ requestId: id });
      if (!explanation) throw new ApiError(404, 'unknown-request', `There is no request "${id}"`);
      return {
        request: requestToApi(request, place < 0 ? null : place),
        explanation: explanationToJson(explanation, sources.conditions.merged),
      };
    },
  };
}

function cancel(sources: LauncherApiSources): ApiOperation {
  return {
    ...{
      id: 'cancelRequest',
      method: 'DELETE',
      path: '/requests/{id}',
      summary: 'Cancel a request',
      pathParameters: { id: ID },
    },
    ...{ answer: ref('Request'), errors: NO_REQUEST },
    async handle({ path: { id = '' } }) {
      const request = find(sources, id);
      await cancelRequest(sources.zk, id);
      return requestToApi(request, null);
    },
  };
}

/** Deletes the record of a request, as its requestor would. @throws ApiError 404 */
async function cancelRequest(zk: ZooKeeper, id: string): Promise<void> {
  try {
    await zk.delete(requestPath(id as RequestId));
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    throw new ApiError(404, 'unknown-request', `There is no request "${id}"`);
  }
}
