import { newNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { beforeEach, expect, it } from 'vitest';
import type { LabelConfig } from '../contract/config.js';
import { VirtualClock } from '../testing/virtual-clock.js';
import { NodeSeconds } from './node-seconds.js';

const HOUR_MS = 3_600_000;
const id = '0000000001' as NodeId;
const SMALL: LabelConfig = { name: 'small', minReady: 0, maxReadyAgeMs: 0, price: 2 };

let clock: VirtualClock;
let seconds: NodeSeconds;

beforeEach(() => {
  clock = new VirtualClock();
  seconds = new NodeSeconds(clock, () => new Map([['small', SMALL]]));
});

function become(changes: Partial<NodeRecord> | undefined, of = id): void {
  const made = newNode({ state: 'building', provider: 'sky', pool: 'main', labels: ['small'] }, 0);
  const after = changes && { ...made, id: of, resources: { cores: 4, ram: 512 }, ...changes };
  seconds.change({ id: of, after });
}

const shown = (amount: Parameters<NodeSeconds['samples']>[0]) =>
  [...seconds.samples(amount)].map(([{ tenant, phase }, value]) => `${tenant} ${phase} ${Math.round(value)}`);

it('counts up between changes, in the phase of the node and of its tenant', async () => {
  const job = { allocatedTo: '200-1' as never, tenantName: 'acme', requestor: 'zuul' };
  become({ ...job, tenantName: null, requestor: 'NodePool:min-ready' });
  await clock.advance(10_000);
  become({ state: 'ready' });
  await clock.advance(20_000);
  become({ ...job, state: 'ready' });
  become({ ...job, state: 'in-use' });
  await clock.advance(HOUR_MS);
  become({ ...job, state: 'used' });
  become({ ...job, state: 'deleting' });
  await clock.advance(5_000);

  expect(shown('nodes')).toEqual(['null boot 10', 'null standby 20', 'acme use 3605']);
  expect(shown('cores')[2]).toBe('acme use 14420');
  expect(shown('ram')[0]).toBe('null boot 5120');
  expect(shown('cost')[2]).toBe('acme use 2');

  become(undefined);
  await clock.advance(HOUR_MS);

  expect(shown('nodes')[2]).toBe('acme use 3605');
});

it('adds up several nodes, and leaves out what has no price', async () => {
  const other = '0000000002' as NodeId;
  become({ state: 'hold', labels: ['big'] });
  become({ state: 'hold', labels: ['big'] }, other);
  await clock.advance(10_000);
  become(undefined, other);
  await clock.advance(5_000);

  expect(shown('nodes')).toEqual(['null hold 25']);
  expect(shown('cost')).toEqual([]);
});

it('takes no node into account whose phase is unknown, and the nodes of a lease as used', () => {
  become({ state: 'deleting' });
  become({ state: 'hold', userData: { lease: 'a' } }, '0000000002' as NodeId);

  expect(shown('nodes')).toEqual(['null use 0']);
});

it('never decreases when the clock goes back', async () => {
  let nowMs = 1_000_000;
  seconds = new NodeSeconds({ ...clock, now: () => nowMs } as never, () => new Map());
  become({});
  nowMs += 5_000;
  const before = shown('nodes');
  nowMs -= 900_000;
  const after = shown('nodes');
  nowMs += 2_000;

  expect([before, after, shown('nodes')]).toEqual([['null boot 5'], ['null boot 5'], ['null boot 7']]);
  await clock.advance(0);
});

it('counts for others what tenants beyond a number take, however many there are', async () => {
  for (let i = 0; i < 20_000; i++) become({ state: 'in-use', tenantName: `t${i}`, requestor: 'zuul' });
  const others = '0000000002' as NodeId;
  become({ state: 'in-use', tenantName: 'late', requestor: 'zuul' }, others);
  await clock.advance(10_000);

  const tenants = [...seconds.samples('nodes')].map(([{ tenant }]) => tenant);
  expect(tenants).toHaveLength(201);
  expect(shown('nodes').at(-1)).toBe('other use 20');
});

it('keeps a bounded number of series of tenants and labels together', () => {
  for (let i = 0; i < 50_000; i++) become({ state: 'in-use', tenantName: `t${i % 199}`, labels: [`l${i % 997}`] });

  expect([...seconds.samples('nodes')].length).toBeLessThanOrEqual(10_001);
});
