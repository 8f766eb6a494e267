import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.js';
import { recordStates } from '../../../test/support/clients.js';
import { perfectConditions } from './conditions.js';
import { connectInMemory } from './connect-in-memory.js';
import { MemoryServer } from './memory-server.js';

const SESSION_MS = 10_000;
const WAY_MS = 5;

/** Two clients of one server; the way of the first takes 5 ms. */
async function open() {
  const clock = new ManualClock();
  const changes: string[] = [];
  const server = new MemoryServer(clock, ({ changes: all }, sessionId) => {
    for (const change of all) if ('path' in change) changes.push(`${sessionId} ${change.change} ${change.path}`);
  });
  const way = { canConnect: true, survivors: (count: number) => count };
  const conditions = {
    ...perfectConditions,
    requestDelayMs: () => WAY_MS,
    replyDelayMs: () => WAY_MS,
    canConnect: () => way.canConnect,
    survivors: (count: number) => way.survivors(count),
  };
  const random = () => 0.5;
  const { zk, link } = connectInMemory(server, { clock, conditions, random, sessionTimeoutMs: SESSION_MS });
  const other = connectInMemory(server, { clock, random }).zk;
  /** Between two milliseconds everything runs that does not wait for time. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed++) {
      clock.advance(1);
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const during = async <T>(promise: Promise<T>): Promise<T> => (await Promise.all([promise, pass(50)]))[0];
  await pass(50);
  return { clock, changes, way, zk, link, other, pass, during };
}

describe('a client in memory', () => {
  it('is answered when its request has gone there and back', async () => {
    const { zk, other, pass } = await open();
    let isDone = false;
    const events: string[] = [];
    await Promise.all([zk.addWatch('/', 'persistent-recursive', ({ path }) => events.push(path)), pass(11)]);

    void zk.create('/a').then(() => (isDone = true));
    await pass(9);
    expect(isDone).toBe(false);
    await pass(2);
    expect(isDone).toBe(true);

    await Promise.all([other.create('/b'), pass(10)]);
    expect(events).toEqual(['/a', '/b']);
  });

  it('keeps its session when the connection breaks, and may have lost an answer', async () => {
    const { zk, link, other, during, pass, changes } = await open();
    const { sessionId } = zk;
    const states = recordStates(zk);

    const lost = expect(zk.create('/a')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
    await pass(1);
    link.break();
    await during(lost);
    await pass(500); // a connection that never answered is not replaced at once

    expect(states).toEqual(['SUSPENDED', 'CONNECTED']);
    expect(zk.sessionId).toBe(sessionId);
    expect(changes).toEqual([`${sessionId} create /a`]);
    expect(await during(other.exists('/a'))).toBeDefined();
  });

  it('loses the requests that do not get through when the connection breaks', async () => {
    const { zk, link, way, during, pass, changes } = await open();
    way.survivors = (count) => count - 1;

    const first = expect(zk.create('/a')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
    const second = expect(zk.create('/b')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
    await pass(1);
    link.break();
    await during(Promise.all([first, second]));

    expect(changes).toEqual([`${zk.sessionId} create /a`]);
  });

  it('learns from the silence that nothing gets through, and loses its session when no connection can be made', async () => {
    const { zk, link, way, other, during, pass } = await open();
    await during(zk.create('/mine', '', { ephemeral: true }));
    const states = recordStates(zk);

    way.canConnect = false;
    link.hold(60_000);
    await pass(6_000);
    expect(states).toEqual([]);
    await pass(SESSION_MS);
    expect(states).toEqual(['SUSPENDED', 'LOST']);
    expect(await during(other.exists('/mine'))).toBeUndefined();

    way.canConnect = true;
    await pass(2_000);
    expect(states).toEqual(['SUSPENDED', 'LOST', 'CONNECTED']);
  });

  it('that is severed hears nothing any more, and its session ends in time', async () => {
    const { zk, link, other, during, pass } = await open();
    await during(zk.create('/mine', '', { ephemeral: true }));
    const lost = expect(zk.getData('/mine')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });

    link.sever();
    await pass(SESSION_MS - 1_000);
    expect(await during(other.exists('/mine'))).toBeDefined();
    await pass(1_000);

    expect(await during(other.exists('/mine'))).toBeUndefined();
    await during(lost); // its own clock still runs
  });
});
