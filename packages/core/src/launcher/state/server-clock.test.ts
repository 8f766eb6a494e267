import { ensureDatabaseId, AGREED_TIME_PATH, type NodeRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { madeMs, ServerClock, sinceWrittenMs } from './server-clock.js';

const signal = new AbortController().signal;

async function clockAhead(aheadMs: number) {
  const world = await ServiceWorld.open();
  const { clock, zk } = world;
  await clock.run(ensureDatabaseId(world.other, signal, [AGREED_TIME_PATH]));
  const own = { now: () => clock.now() + aheadMs, setTimer: clock.setTimer.bind(clock) };
  const serverClock = new ServerClock(zk, own);
  return { world, serverClock, measure: () => clock.run(serverClock.measure(signal)) };
}

/** A process and a server whose clocks can be set; `sleptMs`: how long steady time of the process stood still. */
async function steadyClock() {
  const world = await ServiceWorld.open();
  const { clock, zk } = world;
  await clock.run(ensureDatabaseId(world.other, signal, [AGREED_TIME_PATH]));
  const own = {
    ...{ stepMs: 0, sleptMs: 0 },
    now: () => clock.now() + own.stepMs,
    steadyNow: () => clock.now() - 900_000 - own.sleptMs,
    setTimer: clock.setTimer.bind(clock),
  };
  const server = {
    ...{ stepMs: 0, term: 0n },
    getData: zk.getData.bind(zk),
    setData: async (...args: Parameters<typeof zk.setData>) => {
      const stat = await zk.setData(...args);
      return { ...stat, mtime: stat.mtime + server.stepMs, mzxid: stat.mzxid + (server.term << 32n) };
    },
    whenConnected: zk.whenConnected.bind(zk),
  };
  const serverClock = new ServerClock(server, own);
  const measure = () => clock.run(serverClock.measure(signal));
  /** Another server leads, with another clock. */
  const lead = (stepMs: number) => Object.assign(server, { stepMs, term: server.term + 1n });
  /** How far a clock is ahead of the first leader's. */
  const aheadMs = (of = serverClock) => of.now() - clock.now();
  return { world, own, server, serverClock, measure, lead, aheadMs };
}

describe('the clock of the server', () => {
  it.each([3_600_000, -3_600_000])('is followed by a process whose clock is %i ms ahead', async (aheadMs) => {
    const { world, serverClock, measure } = await clockAhead(aheadMs);
    expect(serverClock.now()).toBe(world.clock.now() + aheadMs);

    await measure();

    expect(Math.abs(serverClock.now() - world.clock.now())).toBeLessThan(100);
    await world.pass(5_000);
    expect(Math.abs(serverClock.now() - world.clock.now())).toBeLessThan(100);
  });

  it('is that of the process while both agree as far as a write shows', async () => {
    const { world, serverClock, measure } = await clockAhead(0);

    await measure();

    expect(serverClock.now()).toBe(world.clock.now());
  });

  it.each([120_000, -120_000])('does not jump when the clock of the process is set by %i ms', async (stepMs) => {
    const { world, own, serverClock, measure } = await steadyClock();
    await measure();

    own.stepMs = stepMs;
    const before = serverClock.now() - world.clock.now();
    await world.pass(60_000);
    await measure();

    expect(Math.abs(before)).toBeLessThan(100);
    expect(Math.abs(serverClock.now() - world.clock.now())).toBeLessThan(100);
  });

  it.each([120_000, -120_000])('is followed slowly when it is set by %i ms', async (stepMs) => {
    const { world, server, measure, aheadMs } = await steadyClock();
    await measure();

    server.stepMs = stepMs;
    await world.pass(60_000);
    await measure();
    const soon = aheadMs();
    for (let minute = 0; minute < 130; minute++) {
      await world.pass(60_000);
      await measure();
    }

    expect(Math.abs(soon)).toBeLessThan(1_100);
    expect(Math.abs(aheadMs() - stepMs)).toBeLessThan(100);
  });

  it.each([300_000, -300_000])('continues when a leader takes over whose clock is %i ms ahead', async (stepMs) => {
    const { world, measure, lead, aheadMs } = await steadyClock();
    await measure();

    lead(stepMs);
    for (let minute = 0; minute < 60; minute++) {
      await world.pass(60_000);
      await measure();
    }

    expect(Math.abs(aheadMs())).toBeLessThan(2_600);
  });

  it.each([300_000, -300_000])('says when writes under a former leader were made, %i ms before', async (stepMs) => {
    const { world, server, measure, lead, serverClock } = await steadyClock();
    await measure();
    const record = async () => ({
      stat: await world.clock.run(server.setData(AGREED_TIME_PATH, '', -1)),
      stateTimeMs: 0,
    });
    const before = (await record()) as NodeRecord;
    await world.pass(40_000);
    lead(stepMs);
    await measure();
    const after = (await record()) as NodeRecord;
    const another = new ServerClock(server, world.clock);
    await world.clock.run(another.measure(signal));
    await world.pass(20_000);

    const ages = [serverClock, another].map((clock) => [before, after].map((one) => sinceWrittenMs(one, clock)));

    // it is not known to one that started later, which counts from its start
    for (const [at, wanted] of [60_000, 20_000, 20_000, 20_000].entries())
      expect(Math.abs((ages.flat()[at] ?? NaN) - wanted)).toBeLessThan(500);
  });

  it('is that of the new leader in the end', async () => {
    const { world, measure, lead, aheadMs } = await steadyClock();
    await measure();
    lead(4_000);
    await measure();

    for (let minute = 0; minute < 100; minute++) {
      await world.pass(60_000);
      await measure();
    }

    expect(Math.abs(aheadMs() - 4_000)).toBeLessThan(100);
  });

  it('is the same for a launcher that starts under another leader, and waits for those that run', async () => {
    const { world, server, measure, lead, aheadMs } = await steadyClock();
    await measure();
    lead(300_000);
    const another = new ServerClock(server, world.clock);

    const started = another.measure(signal);
    await world.pass(1_000);
    await measure();
    await world.clock.run(started);

    expect(Math.abs(aheadMs(another))).toBeLessThan(100);
  });

  it('is that of the leader for a launcher that starts when no other runs', async () => {
    const { world, server, measure, lead, aheadMs } = await steadyClock();
    await measure();
    lead(300_000);
    const another = new ServerClock(server, world.clock);

    await world.clock.run(another.measure(signal));

    expect(Math.abs(aheadMs(another) - 300_000)).toBeLessThan(100);
  });

  it('continues as agreed, although the launcher that says so still follows what was agreed while it was cut off', async () => {
    const { world, server, measure, lead, aheadMs } = await steadyClock();
    await measure();
    lead(-240_000);
    await world.clock.run(server.setData(AGREED_TIME_PATH, '', -1)); // another database
    await world.clock.run(new ServerClock(server, world.clock).measure(signal));
    await measure();
    lead(-250_000);

    await measure();
    const later = new ServerClock(server, world.clock);
    await world.clock.run(later.measure(signal));

    expect(Math.abs(aheadMs(later) + 240_000)).toBeLessThan(500);
  });

  it('does not mind what it cannot read', async () => {
    const { world, measure, aheadMs } = await steadyClock();
    await world.clock.run(world.other.setData(AGREED_TIME_PATH, '{"ahead": "much"}'));

    await measure();

    expect(Math.abs(aheadMs())).toBeLessThan(100);
  });

  it('is followed at once when a computer has slept: steady time stood still', async () => {
    const { world, own, serverClock, measure } = await steadyClock();
    await measure();

    own.sleptMs = 3_600_000;
    await world.pass(60_000);
    await measure();

    expect(Math.abs(serverClock.now() - world.clock.now())).toBeLessThan(100);
  });

  it('is measured again after a lost connection', async () => {
    const { world, serverClock, measure } = await clockAhead(60_000);
    world.loseAnswer((write) => write.endsWith(AGREED_TIME_PATH));

    await measure();

    expect(world.breaks).toBe(1);
    expect(Math.abs(serverClock.now() - world.clock.now())).toBeLessThan(100);
  });
});

it.each([300_000, -300_000])('dates records made under a leader whose clock is %i ms ahead', async (leaderMs) => {
  const { world, server, serverClock, measure, lead } = await steadyClock();
  await measure();
  const before = { czxid: 1n, ctime: world.clock.now() };
  lead(leaderMs);
  await measure();
  const after = { czxid: (server.term << 32n) + 1n, ctime: world.clock.now() + leaderMs };

  const dated = [madeMs(before, serverClock) - before.ctime, madeMs(after, serverClock) - (after.ctime - leaderMs)];

  expect(dated.every((ms) => Math.abs(ms) < 100)).toBe(true);
  expect(madeMs(after, { now: () => 0 })).toBe(after.ctime);
});
