import { describe, expect, it } from 'vitest';
import { decodeLine, encodeLine, pastEvent, type PastLine } from '../record/event.js';
import { sumUsage, totalOf, type UsageKey } from './sum-usage.js';
import { UsageRecord } from './usage-record.js';

const HOUR_MS = 3_600_000;
const RESOURCES = { cores: 2, ram: 1024 };
/** The time of day in hours. */
const at = (hours: number) => hours * HOUR_MS;
const state = (hours: number, name: string, text = '') => pastEvent(at(hours), 'state', '', name, text);
const gone = (hours: number) => pastEvent(at(hours), 'gone');

function recordOf(...lines: PastLine[]): UsageRecord {
  const record = new UsageRecord();
  for (const line of lines) record.add(decodeLine(encodeLine(line, 7), 7) as PastLine);
  return record;
}

function request(id: string, tenant: string | null, requestor = 'zuul'): PastLine {
  const facts = { createdMs: 0, labels: ['small'], requestor, tenant };
  return { kind: 'request', id, facts, events: [pastEvent(0, 'queued', 'cloud/main')] };
}

type NodeLine = Extract<PastLine, { kind: 'node' }>;

function node(id: string, request: string | undefined, events: NodeLine['events'], more = {}): NodeLine {
  const facts = { request, labels: ['small'], pool: 'cloud/main', resources: RESOURCES, ...more };
  return { kind: 'node', id, isFirst: true, facts, events };
}

const ALL = { sinceMs: 0, untilMs: at(100), exists: () => undefined };

function usageOf(record: UsageRecord, by: UsageKey = 'tenant', window = ALL) {
  const { rows, notes } = sumUsage(record, { ...window, by, priceOf: () => undefined });
  const hours = rows.map(({ key, phases }) => [
    key,
    Object.fromEntries(
      Object.entries(phases).flatMap(([phase, { nodeS }]) => (nodeS === 0 ? [] : [[phase, nodeS / 3_600]])),
    ),
  ]);
  return { hours, notes };
}

const JOB = [state(1, 'init'), state(1, 'building'), state(2, 'ready'), state(3, 'in-use', 'org/p')];

describe('usage', () => {
  it('begins with the creation, is split into phases, and ends when the node is gone', () => {
    const stages = [pastEvent(at(1.5), 'stage', '', 'creating'), pastEvent(at(1.8), 'stage', '', 'creating')];
    const events = [...JOB.slice(0, 2), ...stages, ...JOB.slice(2), state(7, 'used'), state(7, 'deleting'), gone(8)];
    const record = recordOf(request('200-1', 'acme'), node('1', '200-1', events));

    const { rows } = sumUsage(record, { ...ALL, by: 'tenant', priceOf: () => 0.5 });

    expect(usageOf(record).hours).toEqual([['acme', { boot: 0.5, use: 6 }]]);
    expect(usageOf(record, 'project').hours).toEqual([['org/p', { boot: 0.5, use: 6 }]]);
    expect(usageOf(record, 'label').hours).toEqual([['small', { boot: 0.5, use: 6 }]]);
    expect(usageOf(record, 'provider').hours).toEqual([['cloud', { boot: 0.5, use: 6 }]]);
    expect(totalOf(rows[0] as (typeof rows)[number])).toEqual({
      ...{ nodeS: 6.5 * 3_600, coreS: 13 * 3_600, ramMibS: 6.5 * 3_600 * 1_024, cost: 3.25 },
    });
  });

  it('of a standby node belongs to no tenant until it is allocated, and again when it is free', () => {
    const record = recordOf(
      request('900-1', null, 'NodePool:min-ready'),
      request('200-1', 'acme'),
      node('1', '900-1', [state(0, 'building'), state(1, 'ready'), pastEvent(at(1), 'allocated')]),
      node('1', '200-1', [pastEvent(at(4), 'allocated', '', '', '200-1'), pastEvent(at(6), 'allocated')]),
      node('1', '200-2', [pastEvent(at(9), 'allocated', '', '', '200-2'), state(10, 'in-use')], { tenant: 'late' }),
      node('1', '200-2', [state(12, 'used'), gone(12)]),
    );

    expect(usageOf(record).hours).toEqual([
      [null, { boot: 1, standby: 6 }],
      ['late', { use: 3 }],
      ['acme', { use: 2 }],
    ]);
  });

  it('of a node held by a person is apart; a lease holds its nodes while it uses them', () => {
    const events = [...JOB, state(5, 'hold'), state(9, 'deleting'), gone(10)];
    const leased = [state(1, 'ready'), state(2, 'hold', 'lease'), gone(4)];
    const record = recordOf(
      ...[request('200-1', 'acme'), request('100-1', 'acme')],
      ...[node('1', '200-1', events), node('2', '100-1', leased)],
    );

    expect(usageOf(record).hours).toEqual([['acme', { boot: 1, use: 3 + 3, hold: 5 }]]);
  });

  it('is counted within the window, and once if several launchers recorded a node', () => {
    const events = [state(0, 'ready'), state(2, 'in-use'), state(8, 'used'), gone(9)];
    const later = events.map((event) => ({ ...event, timeMs: event.timeMs + 400 }));
    const record = recordOf(node('1', '200-1', later), node('1', '200-1', events));

    const [[, phases] = []] = usageOf(record, 'label', { ...ALL, sinceMs: at(1), untilMs: at(3) }).hours;

    expect(phases).toEqual({ use: 2 });
    expect(usageOf(record, 'label', { ...ALL, sinceMs: at(9) + 500 }).hours).toEqual([]);
  });

  it('starts again when a new ensemble gives the id to another node', () => {
    const record = recordOf(node('1', '200-1', [...JOB, gone(4)]), node('1', '200-9', [state(20, 'ready'), gone(21)]));

    expect(usageOf(record, 'label').hours).toEqual([['small', { boot: 1, use: 3 }]]);
  });
});

describe('what is not on record', () => {
  it('ends with the window, with the last event, or with the history, and is said', () => {
    const open = (exists: boolean | undefined) =>
      usageOf(recordOf(node('1', undefined, JOB), { kind: 'alive', timeMs: at(9), what: 'alive' }), 'label', {
        ...ALL,
        untilMs: at(50),
        exists: () => exists as undefined,
      });

    expect(open(true).hours).toEqual([['small', { boot: 1, standby: 1, use: 47 }]]);
    expect(open(false).hours).toEqual([['small', { boot: 1, standby: 1 }]]);
    expect(open(undefined).hours).toEqual([['small', { boot: 1, standby: 1, use: 6 }]]);
    expect(open(false).notes).toContain(
      'the end of 1 nodes is not on record: they count until the last recorded event',
    );
    expect(open(undefined).notes).toContain('1 nodes have no end on record: they count until the end of the history');
  });

  it('is said of resources, prices and the time before the history', () => {
    const known = node('1', '200-1', [...JOB, gone(4)]);
    const unknown = node('2', '200-2', [...JOB, gone(4)], { resources: undefined, labels: ['other'] });
    const { notes, rows } = sumUsage(recordOf(known, unknown), {
      ...{ ...ALL, sinceMs: at(-5), by: 'label' },
      priceOf: (label) => (label === 'small' ? 1 : undefined),
    });

    expect(notes).toEqual([
      'the history begins at 1970-01-01T01:00:00Z: earlier usage is missing',
      'cores and RAM of 1 nodes are not on record',
      'no price for label "other" of cloud: their cost is missing',
    ]);
    expect(rows.map((row) => [row.key, totalOf(row).cost])).toEqual([
      ['small', 3],
      ['other', undefined],
    ]);
  });

  it('is nothing without lines', () => {
    expect(usageOf(recordOf())).toEqual({ hours: [], notes: [] });
  });
});

describe('a clock that jumps', () => {
  it('makes no negative time, and is said', () => {
    const back = [state(5, 'building'), state(6, 'ready'), state(2, 'in-use'), state(4, 'used'), gone(5)];
    const { hours, notes } = usageOf(recordOf(node('1', '200-1', back)), 'label');

    expect(Object.values(Object(hours[0]?.[1]) as Record<string, number>).every((ms) => ms > 0)).toBe(true);
    expect(notes.join()).toContain('the clock of a launcher went back to 1970-01-01T02:00:00Z');
  });

  it('is said of a history from the future', () => {
    const { notes } = usageOf(recordOf(node('1', '200-1', [...JOB, gone(400)])), 'label', { ...ALL, untilMs: at(9) });

    expect(notes).toEqual([
      'the history begins at 1970-01-01T01:00:00Z: earlier usage is missing',
      expect.stringContaining('the history reaches to 1970-01-17'),
    ]);
  });
});
