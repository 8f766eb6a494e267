import { LauncherEvents } from '@nodepool/core/launcher';
import { newRequest, type RecordChange, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HistoryCheck } from './history-check.js';
import { SimulatedProcess } from './process.js';
import { World } from './world.js';

const POOL = { launcherId: 'nl01-main', provider: 'cloud', pool: { name: 'main' } };

let world: World;
let launcher: SimulatedProcess;

beforeEach(() => {
  world = new World(1, false);
  launcher = new SimulatedProcess(world, 'launcher1', world.server);
});

afterEach(() => world.restore());

/** Simulates a request that waits in the queue of a pool for `ms`. @returns violations */
async function fulfilAfter(ms: number): Promise<string[]> {
  const { clock } = launcher;
  const { recorder } = new HistoryCheck(launcher);
  const asked = newRequest({ labels: ['small'], requestor: 'zuul', createdTimeMs: clock.now() }, clock.now());
  const request: RequestRecord = { ...asked, id: '200-0000000001' as RequestId };
  const events = new LauncherEvents();
  let requestChanged: ((change: RecordChange<RequestRecord>) => void) | undefined;
  recorder.follow({
    events,
    nodes: { onChange: () => () => {} },
    requests: { onChange: (listener) => ((requestChanged = listener), () => {}) },
  });
  events.emit('poolServes', { pool: POOL, serves: true });
  events.emit('requestJudged', { pool: POOL, request, group: 'small' });
  await world.run(ms);
  events.emit('requestTaken', { pool: POOL, request });
  requestChanged?.({ id: request.id, before: request, after: { ...request, state: 'fulfilled' } });
  return world.violations.map(({ message }) => message.split(': {')[0] ?? '');
}

describe('the check of a history', () => {
  it('finds a request that a pool evaluated for too long', async () => {
    expect(await fulfilAfter(6_000)).toEqual(['launcher1: the history of 200-0000000001 has planning for 6000 ms']);
  });

  it('excludes the time while the launcher was not running', async () => {
    launcher.stall(1_000);
    launcher.stall(5_500);

    expect(await fulfilAfter(6_000)).toEqual([]);
  });

  it.each([60_000, -60_000])('excludes it by the clock of the launcher, which is wrong by %i ms', async (aheadMs) => {
    launcher = new SimulatedProcess(world, 'launcher1', world.server, aheadMs);
    launcher.stall(5_500);

    expect(await fulfilAfter(6_000)).toEqual([]);
  });

  it('excludes only the stalled part of a period', async () => {
    launcher.stall(500);

    expect(await fulfilAfter(6_000)).toEqual(['launcher1: the history of 200-0000000001 has planning for 5500 ms']);
  });
});
