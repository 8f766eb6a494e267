import { newRequest, type NodeId, type RequestFields, type RequestId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { requestConditions } from './request-conditions.js';

const MINUTE_MS = 60_000;
const NOW_MS = 60 * MINUTE_MS;

const request = (number: number, minutes: number, fields: RequestFields = {}) => ({
  ...newRequest({ state: 'fulfilled', requestor: 'zuul', labels: ['a'], ...fields }, NOW_MS - minutes * MINUTE_MS),
  id: `200-000000000${number}` as RequestId,
});

it('names requests whose nodes no client has taken for more than ten minutes, the oldest first', () => {
  const nodeIds = ['0000000001' as NodeId];

  const found = requestConditions([request(1, 11, { nodeIds }), request(2, 30, { nodeIds }), request(3, 9)], NOW_MS);

  expect(found).toMatchObject([
    {
      ...{ kind: 'zookeeper', type: 'RequestsForgotten', severity: 'warning', sinceMs: NOW_MS - 20 * MINUTE_MS },
      ...{ evidence: { requests: 2, nodes: 2 } },
    },
  ]);
  expect(found[0]?.message).toContain(
    'keep 2 nodes that no client takes: 200-0000000002 of zuul, 200-0000000001 of zuul',
  );
  expect(found[0]?.nextStep).toContain('nodepool cancel 200-0000000002');
});

it('leaves out requests that wait, and those that were fulfilled lately', () => {
  const waiting = request(1, 30, { state: 'requested' });

  expect(requestConditions([waiting, request(2, 10)], NOW_MS)).toEqual([]);
});
