import { describe, expect, it } from 'vitest';
import type { RequestId } from '@nodepool/zk-protocol';
import { LauncherEvents, type Launch } from '../state/events.js';
import { LaunchTurns } from './launch-turns.js';

const LAUNCH: Launch = {
  ...{ provider: 'p', pool: 'main', label: 'a', request: '200-0000000001' as RequestId, need: { instances: 1 } },
};
const NEVER = new AbortController().signal;

/** Launches of nodes that exist already, all of them counted. */
function setUp(maxConcurrency: number, launches: number, signal = NEVER) {
  const events = new LauncherEvents();
  const turns = new LaunchTurns({ events });
  const pool = { provider: 'p', maxConcurrency, activeLaunches: launches };
  const begun: number[] = [];
  const refused: number[] = [];
  const all = Array.from({ length: launches }, (_, i) =>
    turns.take(pool, i === 1 ? signal : NEVER).then(
      () => begun.push(i),
      () => refused.push(i),
    ),
  );
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const end = async () => {
    pool.activeLaunches--;
    events.emit('launchEnded', { launch: LAUNCH, state: 'ready' });
    await settle();
  };
  return { events, pool, begun, refused, all, settle, end };
}

describe('launches of nodes that exist already', () => {
  it.each([
    [-1, [0, 1, 2]],
    [3, [0, 1, 2]],
    [2, [0, 1]],
    [0, []],
  ])('run at once as far as max-concurrency %i allows', async (limit, expected) => {
    const { begun, settle } = setUp(limit, 3);

    await settle();

    expect(begun).toEqual(expected);
  });

  it('run one after another beyond that', async () => {
    const { begun, settle, end } = setUp(1, 3);
    await settle();
    const seen = [[...begun]];

    await end();
    seen.push([...begun]);
    await end();

    expect([...seen, begun]).toEqual([[0], [0, 1], [0, 1, 2]]);
  });

  it('run when the limit is raised', async () => {
    const { events, pool, begun, settle } = setUp(1, 2);
    await settle();

    pool.maxConcurrency = 2;
    events.emit('planDue', { pool: { launcherId: 'own', provider: 'p', pool: { name: 'main' } } });
    await settle();

    expect(begun).toEqual([0, 1]);
  });

  it('are given back when no more may begin', async () => {
    const { events, pool, begun, refused, settle } = setUp(1, 3);
    await settle();

    pool.maxConcurrency = 0;
    events.emit('planDue', { pool: { launcherId: 'own', provider: 'p', pool: { name: 'main' } } });
    await settle();

    expect([begun, refused]).toEqual([[0], [1, 2]]);
  });

  it('leave their place when they end before their turn', async () => {
    const death = new AbortController();
    const { begun, refused, settle, end } = setUp(1, 3, death.signal);
    await settle();

    death.abort(new Error('the session was lost'));
    await end(); // of the one that waited
    await end();

    expect([begun, refused]).toEqual([[0, 2], [1]]);
  });
});
