import { describe, expect, it } from 'vitest';
import type { Clock } from '../base/clock.js';
import { Heartbeat } from './heartbeat.js';

/** A clock moved by hand. */
class ManualClock implements Clock {
  #nowMs = 0;
  #timers = new Set<{ atMs: number; fn: () => void }>();

  now(): number {
    return this.#nowMs;
  }

  setTimer(ms: number, fn: () => void): () => void {
    const timer = { atMs: this.#nowMs + ms, fn };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves on in steps of a millisecond, letting immediates run. */
  async advance(ms: number): Promise<void> {
    for (let i = 0; i < ms; i += 1) {
      this.#nowMs += 1;
      for (const timer of [...this.#timers]) {
        if (timer.atMs > this.#nowMs || !this.#timers.delete(timer)) continue;
        timer.fn();
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }
}

function started(timeoutMs: number) {
  const clock = new ManualClock();
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
  it('pings each quarter of the session timeout however much arrives', async () => {
    const { clock, log, heartbeat } = started(400);

    for (let i = 0; i < 40; i += 1) {
      await clock.advance(10);
      heartbeat.heard();
    }

    expect(log).toEqual(['ping 100', 'ping 200', 'ping 300', 'ping 400']);
  });

  it('calls the connection dead after two thirds of silence', async () => {
    const { clock, log, heartbeat } = started(300);
    await clock.advance(100);
    heartbeat.heard();

    await clock.advance(201);

    expect(log.filter((line) => line.startsWith('dead'))).toEqual(['dead 200']);
  });

  it('knows when the server last heard from us: the sending of the last ping that was answered', async () => {
    const { clock, heartbeat } = started(400);
    await clock.advance(250);
    heartbeat.pingAnswered();

    expect(heartbeat.confirmedAtMs).toBe(100);

    heartbeat.pingAnswered();
    heartbeat.pingAnswered();
    expect(heartbeat.confirmedAtMs).toBe(200);
  });

  it('is quiet once stopped', async () => {
    const { clock, log, heartbeat } = started(400);

    heartbeat.stop();
    await clock.advance(1000);

    expect(log).toEqual([]);
  });
});
