import { describe, expect, it } from 'vitest';
import { pastEvent, type PastEvent, type PastLine } from '../record/event.js';
import { timelineOf, type ToldRun } from './timeline.js';

const ID = '200-0000000001';
const NODE = '0000000007';
const POOL = 'rack/main';

function run(lines: readonly PastLine[], changes: Partial<ToldRun> = {}): ToldRun {
  return { launcher: 'nl01', run: 'a', isRunning: true, heardMs: 0, lines, ...changes };
}

function request(createdMs: number, ...events: PastEvent[]): PastLine {
  return { kind: 'request', id: ID, facts: { createdMs, labels: ['small'], requestor: 'zuul', tenant: null }, events };
}

function node(isFirst: boolean, ...events: PastEvent[]): PastLine {
  const facts = { request: ID, labels: isFirst ? ['small'] : [], pool: isFirst ? POOL : '' };
  return { kind: 'node', id: NODE, isFirst, facts, events };
}

const waits = (timeMs: number, rule: string) => pastEvent(timeMs, 'waits', POOL, rule, rule);
const gone = (timeMs: number) => pastEvent(timeMs, 'gone');
const state = (timeMs: number, name: string) => pastEvent(timeMs, 'state', '', name);

describe('the timeline of a request', () => {
  it('is undefined where nothing is recorded', () => {
    expect(timelineOf('request', ID, [run([{ kind: 'alive', timeMs: 1, what: 'alive' }])])).toBeUndefined();
  });

  it('means the newest request where a new ensemble has reused its id', () => {
    const lines = [1_000_000_000, 2_000_000_000].map((timeMs) => request(timeMs, waits(timeMs, `at-${timeMs}`)));

    expect(timelineOf('request', ID, [run(lines)])).toMatchObject({
      created_time: 2_000_000,
      intervals: [{ cause: 'at-2000000000' }],
    });
  });

  it('ends the wait in a launcher that is gone, and continues it in another one', () => {
    const lost = run([request(1_000, waits(1_000, 'pool-full'))], { isRunning: false, heardMs: 5_000 });
    const taken = [pastEvent(9_000, 'taken', POOL), pastEvent(9_500, 'fulfilled', '', '', NODE)];
    const other = run([request(1_000, ...taken)], { launcher: 'nl02', run: 'b' });

    expect(timelineOf('request', ID, [lost, other])).toMatchObject({
      ...{ state: 'fulfilled', nodes: [NODE], ended_time: 9.5 },
      intervals: [
        { cause: 'pool-full', begin_time: 1, end_time: 5 },
        { cause: 'unseen', begin_time: 5, end_time: 9 },
        { cause: 'handling', begin_time: 9, end_time: 9.5 },
      ],
    });
  });

  it('shows a run once that two launchers return, as running if its own launcher says so', () => {
    const lines = [request(1_000, waits(1_000, 'pool-full'))];
    const sharing = run(lines, { launcher: 'nl02', isRunning: false, heardMs: 3_000 });
    const timeline = timelineOf('request', ID, [run(lines), sharing]);

    expect(timeline).toMatchObject({ state: 'waiting', intervals: [{ cause: 'pool-full', end_time: null }] });
    expect(timeline?.['events']).toEqual([expect.objectContaining({ launcher: 'nl01', what: 'waits' })]);
  });

  it('includes its nodes until it ended', () => {
    const lines = [
      request(1_000, pastEvent(1_000, 'taken', POOL), pastEvent(4_000, 'fulfilled')),
      node(true, state(2_000, 'building'), state(4_000, 'ready')),
      node(false, state(60_000, 'deleting')),
    ];

    const timeline = timelineOf('request', ID, [run(lines)]);

    expect(timeline).toMatchObject({ nodes: [NODE], state: 'fulfilled' });
    expect(JSON.stringify(timeline?.['events'])).not.toContain('deleting');
  });
});

describe('the timeline of a node', () => {
  it('has its states and the stages and errors of its launch', () => {
    const launch = [pastEvent(2_000, 'stage', '', 'creating'), pastEvent(3_000, 'error', '', '', 'no quota')];
    const end = [pastEvent(9_000, 'state', '', 'deleting', 'image replaced'), pastEvent(9_500, 'gone')];

    expect(timelineOf('node', NODE, [run([node(true, state(1_000, 'building'), ...launch, ...end)])])).toMatchObject({
      ...{ state: 'gone', ended_time: 9.5, request: ID, labels: ['small'] },
      intervals: [
        { cause: 'building', begin_time: 1, end_time: 2 },
        { cause: 'creating', begin_time: 2, end_time: 3 },
        { cause: 'launch-failed', begin_time: 3, end_time: 9, text: 'no quota' },
        { cause: 'deleting', begin_time: 9, end_time: 9.5, text: 'image replaced' },
      ],
    });
  });

  it('starts after the end of an earlier node with the same id', () => {
    const earlier = node(true, state(1_000, 'ready'), pastEvent(2_000, 'gone'));
    const later = node(true, state(5_000, 'ready'));

    expect(timelineOf('node', NODE, [run([earlier, later])])).toMatchObject({
      ...{ state: 'ready', created_time: 5 },
      intervals: [{ cause: 'ready', begin_time: 5, end_time: null }],
    });
  });

  it('is that of one node, whose end several launchers saw one after the other', () => {
    const states = [
      state(1_000, 'building'),
      state(2_000, 'ready'),
      state(2_100, 'used'),
      state(4_500, 'deleting'),
      gone(4_900),
    ];
    const later = states.map((event) => ({ ...event, timeMs: event.timeMs + 300 }));
    const own = [...states.slice(0, 1), pastEvent(1_050, 'stage', '', 'creating'), ...states.slice(1)];
    const others = [later, [state(5_000, 'deleting'), gone(60_000)], [gone(61_000)]];
    const runs = others.map((events, index) => run([node(true, ...events)], { launcher: 'nl02', run: `b${index}` }));

    expect(timelineOf('node', NODE, [run([node(true, ...own)]), ...runs])).toMatchObject({
      ...{ state: 'gone', created_time: 1, ended_time: 4.9 },
      intervals: [
        { cause: 'building', begin_time: 1, end_time: 1.05 },
        { cause: 'creating', begin_time: 1.05, end_time: 2 },
        { cause: 'ready', begin_time: 2, end_time: 2.1 },
        { cause: 'used', begin_time: 2.1, end_time: 4.5 },
        { cause: 'deleting', begin_time: 4.5, end_time: 4.9 },
      ],
    });
  });

  it('has one interval for a state that two launchers recorded at different times', () => {
    const first = run([node(true, state(1_000, 'in-use'))]);
    const second = run([node(true, state(1_002, 'in-use'))], { launcher: 'nl02', run: 'b' });

    expect(timelineOf('node', NODE, [first, second])).toMatchObject({ intervals: [{ begin_time: 1 }] });
  });
});
