import { expect, it } from 'vitest';
import { pastEvent } from '../record/event.js';
import type { Window } from './demand.js';
import { Past } from './past.js';
import { replayStandby } from './replay-standby.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const GOAL = { goal: 95, targetWaitMs: 5_000, atMost: 5, timeZone: 'UTC' };
const MIN_READY = { settings: undefined, minReady: 1 };
const state = (timeMs: number, name: string) => pastEvent(timeMs, 'state', '', name);

/** A request each ten minutes for three hours, each with a launch of two minutes. */
function record(requestor = 'zuul'): Past {
  const past = new Past();
  for (let i = 0; i < 18; i++) {
    const createdMs = HOUR_MS + i * 10 * MINUTE_MS;
    const readyMs = createdMs + 2 * MINUTE_MS;
    const id = `200-${i}`;
    const facts = { createdMs, labels: ['small'], requestor, tenant: null };
    past.add({ kind: 'request', id, facts, events: [pastEvent(createdMs, 'queued'), pastEvent(readyMs, 'fulfilled')] });
    past.add({
      ...{ kind: 'node', id: String(i), isFirst: true, facts: { request: id, labels: ['small'], pool: 'cloud/main' } },
      events: [
        state(createdMs, 'building'),
        state(readyMs, 'ready'),
        state(readyMs, 'in-use'),
        pastEvent(readyMs + 1, 'gone'),
      ],
    });
  }
  return past;
}

const replay = (past: Past, window: Window) =>
  replayStandby(
    past,
    window,
    () => GOAL,
    () => MIN_READY,
  );

it.each([undefined, '900-0'])('compares the recorded waits with those of standby nodes (%s)', (request) => {
  const past = record();
  const asked = { createdMs: 0, labels: ['small'], requestor: 'NodePool:min-ready', tenant: null };
  past.add({ kind: 'request', id: '900-0', facts: asked, events: [pastEvent(0, 'taken', 'cloud/main')] });
  past.add({
    ...{ kind: 'node', id: '99', isFirst: true, facts: { request, labels: ['small'], pool: 'cloud/main' } },
    events: [
      state(0, 'building'),
      state(HOUR_MS / 2, 'ready'),
      state(3 * HOUR_MS, 'deleting'),
      pastEvent(4 * HOUR_MS, 'gone'),
    ],
  });

  const [label, ...others] = replay(past, { sinceMs: HOUR_MS, untilMs: 4 * HOUR_MS });

  expect(others).toEqual([]);
  expect(label).toMatchObject({
    label: 'small',
    recorded: { requests: 18, p50Ms: 2 * MINUTE_MS, p99Ms: 2 * MINUTE_MS, idleHours: 2 },
    configured: { nodes: 1, atOnce: 1 },
    ...{ auto: { requests: 18 }, follow: { atOnce: 17 / 18, unused: 2 }, schedule: { requests: 18 } },
    constant: { nodes: 1, p95Ms: 0, atOnce: 1 },
  });
  expect(label?.constant.idleHours).toBeCloseTo(3 - (18 * 2) / 60);
});

it('leaves out requests of launchers, and labels without requests in the window', () => {
  expect(replay(record('NodePool:min-ready'), { sinceMs: 0, untilMs: 9 * HOUR_MS })).toEqual([]);
  expect(replay(record(), { sinceMs: 8 * HOUR_MS, untilMs: 9 * HOUR_MS })).toEqual([]);
});

it('counts leases', () => {
  const window = { sinceMs: HOUR_MS, untilMs: 4 * HOUR_MS };

  expect(replay(record('NodePool:lease'), window)).toMatchObject([{ recorded: { requests: 18 } }]);
});
