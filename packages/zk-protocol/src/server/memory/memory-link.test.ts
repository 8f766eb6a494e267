import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.js';
import { recordStates } from '../../../test/support/clients.js';
import { connectInMemory, perfectConditions } from './memory-link.js';
import { MemoryServer } from './memory-server.js';

const SESSION_MS = 10_000;
const DELAY_MS = 5;

/** Two clients of one server; data of the first takes 5 ms each network. */
async function open() {
  const clock = new ManualClock();
  const changes: string[] = [];
  const server = new MemoryServer(clock, ({ changes: all }, sessionId) => {
    for (const change of all) if ('path' in change) changes.push(`${sessionId} ${change.change} ${change.path}`);
  });
  const network = { canConnect: true, survivors: (count: number) => count };
  const conditions = {
    ...perfectConditions,
    requestDelayMs: () => DELAY_MS,
    replyDelayMs: () => DELAY_MS,
    canConnect: () => network.canConnect,
    survivors: (count: number) => network.survivors(count),
  };
  const random = () => 0.5;
  const { zk, link } = connectInMemory(server, { clock, conditions, random, sessionTimeoutMs: SESSION_MS });
  const other = connectInMemory(server, { clock, random }).zk;
  /** Advances the clock, and lets all work that does not wait for a timer run after each millisecond. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed++) {
      clock.advance(1);
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const during = async <T>(promise: Promise<T>): Promise<T> => (await Promise.all([promise, pass(50)]))[0];
  await pass(50);
  return { clock, changes, network, server, zk, link, other, pass, during };
}

describe('a client in memory', () => {
  it('receives a reply after the delays of both directions', async () => {
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

  it('keeps its session when the connection breaks, but may lose a reply', async () => {
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

  it('keeps its session when another server leads, whose term begins', async () => {
    const { zk, server, during, pass } = await open();
    const { sessionId } = zk;
    const states = recordStates(zk);
    await during(zk.create('/mine', '', { ephemeral: true }));

    server.changeLeader();
    await pass(1_000);
    const stat = await during(zk.setData('/mine', 'x'));

    expect(states).toEqual(['SUSPENDED', 'CONNECTED']);
    expect(zk.sessionId).toBe(sessionId);
    expect([stat.czxid >> 32n, stat.mzxid >> 32n]).toEqual([0n, 1n]);
  });

  it('loses requests that were in flight when the connection broke', async () => {
    const { zk, link, network, during, pass, changes } = await open();
    network.survivors = (count) => count - 1;

    const first = expect(zk.create('/a')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
    const second = expect(zk.create('/b')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
    await pass(1);
    link.break();
    await during(Promise.all([first, second]));

    expect(changes).toEqual([`${zk.sessionId} create /a`]);
  });

  it('detects a silent connection, and loses its session when it cannot reconnect', async () => {
    const { zk, link, network, other, during, pass } = await open();
    await during(zk.create('/mine', '', { ephemeral: true }));
    const states = recordStates(zk);

    network.canConnect = false;
    link.hold(60_000);
    await pass(6_000);
    expect(states).toEqual([]);
    await pass(SESSION_MS);
    expect(states).toEqual(['SUSPENDED', 'LOST']);
    expect(await during(other.exists('/mine'))).toBeUndefined();

    network.canConnect = true;
    await pass(2_000);
    expect(states).toEqual(['SUSPENDED', 'LOST', 'CONNECTED']);
  });

  it('receives nothing after it is severed, and its session expires', async () => {
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
