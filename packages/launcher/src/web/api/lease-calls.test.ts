import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import type { ApiCall } from '@nodepool/daemon';
import { LeaseCalls } from './lease-calls.js';
import type { LeaseStreams } from './lease-streams.js';
import type { LeaseApiSources } from './sources.js';

it.each([
  ['starting', 'starting'],
  ['cut-off', 'zookeeper'],
] as const)('are not answered from memory by a launcher that is %s: 503 %s', (knowledge, code) => {
  const leases = { knowledge, ready: false, values: () => [] };
  const sources = { clock: new VirtualClock(), runtime: { leases } } as unknown as LeaseApiSources;
  const calls = new LeaseCalls(sources, {} as LeaseStreams);

  expect(() => calls.list({ query: {} } as ApiCall)).toThrow(expect.objectContaining({ status: 503, code }));
});

it('answer with the lease that another launcher wrote a moment ago, in place of a refusal', async () => {
  const body = { labels: ['gone'], wait: 0 };
  const digest = createHash('sha256')
    .update(JSON.stringify({ labels: body.labels }))
    .digest('hex');
  const lease = { id: 'l1', owner: 'ann', digest, state: 'ended', nodeIds: [], labels: ['gone'] };
  const leases = { get: () => undefined, look: () => Promise.resolve({ lease, nodes: [], request: undefined }) };
  const runtime = { leases, components: [], isUnknownLabel: () => true };
  const sources = {
    ...{ clock: new VirtualClock(), runtime, config: () => ({ maxHoldAgeMs: 0 }) },
    certificates: { of: () => Promise.resolve(new Map()) },
  } as unknown as LeaseApiSources;
  const calls = new LeaseCalls(sources, { whenServed: () => Promise.resolve() } as unknown as LeaseStreams);
  const caller = { name: 'ann', owner: 'ann', identity: '', labels: ['*'], highestPriority: 1, maxTtlMs: Infinity };

  const answer = await calls.create({ body, caller, idempotencyKey: 'k' } as unknown as ApiCall);

  expect(answer).toMatchObject({ id: 'l1' });
});
