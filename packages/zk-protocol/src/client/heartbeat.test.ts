import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { Heartbeat } from './heartbeat.js';

/** Moves on in steps of a millisecond, letting immediates run. */
async function advance(clock: ManualClock, ms: number): Promise<void> {
  for (let i = 0; i < ms; i += 1) {
    clock.advance(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function started(timeoutMs: number) {
  const clock = new ManualClock(0);
  const log: string[] = [];
  const heartbeat = new Heartbeat(
    clock,
    () => log.push(`ping ${clock.now()}`),
    (silentMs) => log.push(`dead ${silentMs}`),
  );
  heartbeat.start(timeoutMs, 0);
  return { clock, log, heartbeat };
}

describe('Heartbeat', () => {
  it('pings each quarter of the session timeout even if data arrives', async () => {
    const { clock, log, heartbeat } = started(400);

    for (let i = 0; i < 40; i += 1) {
      await advance(clock, 10);
      heartbeat.heard();
    }

    expect(log).toEqual(['ping 100', 'ping 200', 'ping 300', 'ping 400']);
  });

  it('reports the connection as dead after two thirds of the timeout without data', async () => {
    const { clock, log, heartbeat } = started(300);
    await advance(clock, 100);
    heartbeat.heard();

    await advance(clock, 201);

    expect(log.filter((line) => line.startsWith('dead'))).toEqual(['dead 200']);
  });

  it('confirms the session as of the last ping that was answered', async () => {
    const { clock, heartbeat } = started(400);
    await advance(clock, 250);
    heartbeat.pingAnswered();

    expect(heartbeat.confirmedAtMs).toBe(100);

    heartbeat.pingAnswered();
    heartbeat.pingAnswered();
    expect(heartbeat.confirmedAtMs).toBe(200);
  });

  it('extends the wait after a pause of this process, but only once', async () => {
    const { clock, log } = started(3000);

    clock.pause(9000);
    await new Promise((resolve) => setImmediate(resolve));
    await advance(clock, 999);
    const before = log.filter((line) => line.startsWith('dead'));
    await advance(clock, 1);

    expect(before).toEqual([]);
    expect(log.filter((line) => line.startsWith('dead'))).toEqual(['dead 10000']);
  });

  it('is quiet once stopped', async () => {
    const { clock, log, heartbeat } = started(400);

    heartbeat.stop();
    await advance(clock, 1000);

    expect(log).toEqual([]);
  });
});
