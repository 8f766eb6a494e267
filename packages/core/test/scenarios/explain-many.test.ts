import { newRequest, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { explainInPool } from '../../src/launcher/view/explain-pool.js';
import { RequestQueue } from '../../src/launcher/plan/queue.js';
import { busyCloud } from '../support/stuck-requests.js';

const WAITING = 5000;

function requestOf(number: number, tenants: number): RequestRecord {
  const labels = [['small'], ['big'], ['small', 'big'], ['big', 'big']][number % 4] ?? [];
  const id = `200-${String(number).padStart(10, '0')}` as RequestId;
  return { ...newRequest({ labels, tenantName: `tenant${number % tenants}` }, 0), id };
}

it.each([
  ['of which many want the same', 20],
  ['of which no two want the same', WAITING],
])(`explains one of ${WAITING} waiting requests, %s, with its place in the queue`, (_what, tenants) => {
  const view = busyCloud();
  const queue = new RequestQueue();
  const requests = Array.from({ length: WAITING }, (_, i) => requestOf(i, tenants));
  for (const request of requests) queue.put(request);
  const asked = requests.filter((_request, i) => i % 500 === 499);

  const findings = asked.map((request) => explainInPool(request, { view, queue, paused: [], handled: 'no' }));

  expect(findings).toMatchObject(asked.map((request) => ({ action: 'wait', position: requests.indexOf(request) })));
});
