import { beforeEach, expect, it } from 'vitest';
import { pastEvent, type PastLine } from '@nodepool/history';
import { call, World } from '../../../test/support/world.js';
import { usageOperation } from './usage-operation.js';

const HOUR_MS = 3_600_000;

let world: World;
let nowMs: number;

beforeEach(() => {
  world = new World();
  nowMs = world.sources.clock.now();
  const beganMs = nowMs - 3 * HOUR_MS;
  const state = (hours: number, name: string) => pastEvent(beganMs + hours * HOUR_MS, 'state', '', name);
  const line: PastLine = {
    ...{ kind: 'node', id: '0000000099', isFirst: true },
    facts: { request: undefined, labels: ['small'], pool: 'rack/main', tenant: 'acme', resources: { cores: 2 } },
    events: [state(0, 'building'), state(1, 'ready'), state(1.5, 'in-use')],
  };
  Object.assign(world.history, {
    addTo: (record: { add(line: PastLine): void }) => {
      record.add(line);
      return Promise.resolve();
    },
  });
  Object.assign(world.config, {
    labels: new Map([['small', { name: 'small', minReady: 0, maxReadyAgeMs: 0, price: 2 }]]),
  });
});

const usage = (query: Record<string, string> = {}) => call([usageOperation(world.sources)], 'getUsage', { query });

it('sums the nodes on record by phase, with their cost; a node that is gone ends with its last event', async () => {
  expect(await usage({ by: 'label' })).toMatchObject({
    ...{ launcher: 'nl01', by: 'label', until: nowMs / 1000, since: nowMs / 1000 - 86_400 },
    rows: [
      {
        key: 'small',
        boot: { node_seconds: 3_600, core_seconds: 7_200, ram_mib_seconds: 0, cost: 2 },
        standby: { node_seconds: 1_800 },
        total: { node_seconds: 5_400, cost: 3 },
      },
    ],
    notes: expect.arrayContaining([expect.stringContaining('the end of 1 nodes is not on record')]) as string[],
  });
});

it('is limited to the time asked for', async () => {
  const since = String(nowMs / 1000 - 2.5 * 3_600);

  expect(await usage({ since })).toMatchObject({ rows: [{ total: { node_seconds: 3_600 } }] });
});

it.each([
  [{ by: 'colour' }, 'bad-key'],
  [{ since: 'yesterday' }, 'bad-time'],
  [{ since: '0x10' }, 'bad-time'],
  [{ since: '5', until: '4' }, 'bad-time'],
])('refuses %j', async (query, code) => {
  await expect(usage(query as unknown as Record<string, string>)).rejects.toMatchObject({ status: 400, code });
});

it('computes one answer at a time', async () => {
  const operations = [usageOperation(world.sources)];
  const [first, second] = [call(operations, 'getUsage', {}), call(operations, 'getUsage', {})];

  await expect(second).rejects.toMatchObject({ status: 429, code: 'busy' });
  await first;
});
