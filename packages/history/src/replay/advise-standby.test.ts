import { describe, expect, it } from 'vitest';
import { pastEvent } from '../record/event.js';
import { adviseStandby, tooUnsure, type AdvisedLabel } from './advise-standby.js';
import { Past } from './past.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const BOOT_MS = 2 * MINUTE_MS;
const LABEL: AdvisedLabel = {
  name: 'small',
  minReady: 0,
  settings: undefined,
  goal: { goal: 95, targetWaitMs: 5_000, atMost: 10, timeZone: 'UTC' },
};

/** Requests at these minutes of each of so many days. */
function record({ days = 21, minutes = [600], batch = 1, isLaunched = true } = {}): Past {
  const past = new Past();
  let id = 0;
  for (let day = 0; day < days; day++)
    for (const minute of minutes)
      for (let i = 0; i < batch; i++) {
        const createdMs = day * DAY_MS + minute * MINUTE_MS + i;
        const request = `200-${++id}`;
        const facts = { createdMs, labels: ['small'], requestor: 'zuul', tenant: null };
        const ready = createdMs + BOOT_MS;
        const events = [pastEvent(createdMs, 'queued'), pastEvent(ready, 'fulfilled')];
        past.add({ kind: 'request', id: request, facts, events });
        if (!isLaunched) continue;
        past.add({
          ...{ kind: 'node', id: String(id), isFirst: true, facts: { request, labels: ['small'], pool: 'cloud/main' } },
          events: [pastEvent(createdMs, 'state', '', 'building'), pastEvent(ready, 'state', '', 'ready')],
        });
      }
  past.add({ kind: 'alive', what: 'alive', timeMs: days * DAY_MS });
  return past;
}

function advise(past: Past, changes: Partial<AdvisedLabel> = {}, days = 21, worth = Infinity) {
  return adviseStandby(past, { sinceMs: 0, untilMs: days * DAY_MS }, [{ ...LABEL, ...changes }], worth);
}

describe('an advice', () => {
  it('is a schedule where it clearly spares idle node-hours', () => {
    const [advice] = advise(record({ batch: 4 }));

    expect(advice).toMatchObject({
      ...{ label: 'small', proposal: 'schedule', settings: { schedule: [{ kind: 'hours', nodes: 4 }] } },
      reason: expect.stringMatching(
        /^serves 100 of 100 requests at once; 9\d % fewer idle node-hours than min-ready 4; [\d.]+ node-hours for each hour of waiting avoided$/,
      ) as unknown,
      figures: { now: { nodes: 0, p95Ms: BOOT_MS, idleHours: 0 }, 'min-ready': { nodes: 4, atOnce: 1 } },
    });
    expect(advice?.figures?.providers.get('cloud')).toBeCloseTo(1);
    const settings = advice?.settings;
    expect(advise(record({ batch: 4 }), { settings })).toMatchObject([
      { proposal: 'keep', reason: 'it serves 100 of 100 requests at once' },
    ]);
  });

  it('is a run for jobs that come together each night, and no constant number for them', () => {
    expect(advise(record({ batch: 60 }), { goal: { ...LABEL.goal, atMost: 100 } })).toMatchObject([
      { proposal: 'schedule', settings: { schedule: [{ kind: 'run', cron: '0 10 * * *', nodes: 60 }] } },
    ]);
  });

  it('is the smallest min-ready where demand is the same at all times', () => {
    const past = record({ minutes: Array.from({ length: 24 * 4 }, (_, at) => at * 15) });

    expect(advise(past)).toMatchObject([
      { proposal: 'min-ready', reason: expect.stringContaining('the smallest that serves 100 of 100') as unknown },
    ]);
    expect(advise(past, { minReady: 1 })).toMatchObject([{ proposal: 'keep' }]);
  });

  it('is no node where a launch is within the target', () => {
    const goal = { ...LABEL.goal, targetWaitMs: BOOT_MS };

    expect(advise(record({ batch: 4 }), { goal, minReady: 2 })).toMatchObject([
      { proposal: 'min-ready', reason: 'no standby node is needed', figures: { 'min-ready': { nodes: 0 } } },
    ]);
  });

  it('is nothing that is not worth it', () => {
    expect(advise(record({ batch: 4 }), {}, 21, 1)).toMatchObject([
      {
        proposal: undefined,
        reason: expect.stringMatching(
          /^not worth it: [\d.]+ node-hours for each hour of waiting avoided, and --worth is 1$/,
        ) as unknown,
      },
    ]);
  });

  it('knows of requests before the time to judge by', () => {
    const past = record({ batch: 4 });
    const facts = { createdMs: 15 * DAY_MS, labels: ['rare'], requestor: 'zuul', tenant: null };
    past.add({ kind: 'request', id: '200-9999', facts, events: [pastEvent(15 * DAY_MS, 'queued')] });

    expect(advise(past, { name: 'rare' })[0]?.reason).toBe('only 1 request is on record, and 20 are needed');
  });

  it.each<[string, Past, Partial<AdvisedLabel>, number, string]>([
    ['few requests', record({ days: 15 }), {}, 15, 'only 15 requests are on record, and 20 are needed'],
    [
      'few days',
      record({ days: 13, batch: 9 }),
      {},
      13,
      'its requests of 13 days are on record, and 14 days are needed',
    ],
    ['no launch', record({ batch: 4, isLaunched: false }), {}, 21, 'no launch of it is on record'],
    ['no request', record(), { name: 'large' }, 21, 'no request for it is on record'],
    ['a label that is off', record({ batch: 4 }), { minReady: -1 }, 21, 'min-ready -1 switches the label off'],
    [
      'at-most',
      record({ batch: 20 }),
      {},
      21,
      'with up to 10 nodes at most 50 of 100 requests are served at once, and the goal is 95',
    ],
    ['a label that is quiet', record({ days: 20 }), {}, 28, 'no request for it has come since 1970-01-20'],
  ])('is nothing with %s', (_, past, changes, days, reason) => {
    expect(advise(past, changes, days)[0]).toMatchObject({
      proposal: undefined,
      reason: expect.stringContaining(reason) as unknown,
    });
  });

  it('names labels of the record that the configuration does not have', () => {
    expect(advise(record(), { name: 'large' })[1]).toMatchObject({
      ...{ label: 'small', proposal: undefined, reason: 'the configuration does not have the label' },
    });
  });

  it('is not made from a history of the future, or one that is damaged', () => {
    const past = record({ batch: 4 });

    expect(tooUnsure(past, 0, 21 * DAY_MS)).toBeUndefined();
    expect(tooUnsure(past, 0, 20 * DAY_MS)).toContain('the history reaches to 1970-01-22T00:00:00.000Z');
    expect(tooUnsure(past, 2, 21 * DAY_MS)).toBe('2 of 171 lines of the history are damaged');
    expect(tooUnsure(past, 1, 21 * DAY_MS)).toBeUndefined();
  });
});
