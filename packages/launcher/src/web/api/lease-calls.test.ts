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
