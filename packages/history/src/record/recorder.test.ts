import type { NodeRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import { beforeEach, describe, expect, it } from 'vitest';
import type { DecisionReason } from '@nodepool/core/launcher';
import { VirtualClock } from '@nodepool/core/testing';
import { FollowedLauncher } from '../../test/support/followed-launcher.js';
import { node, request } from '../../test/support/records.js';
import { causesOf, type Interval } from './causes.js';
import { decodeLine, encodeLine, type PastLine } from './event.js';
import { Recorder, type PastRequest } from './recorder.js';

const POOL = { launcherId: 'nl01-main', provider: 'cloud', pool: { name: 'main' } };
const OTHER = { launcherId: 'nl01-other', provider: 'rack', pool: { name: 'main' } };
const LAUNCH = {
  provider: 'cloud',
  pool: 'main',
  label: 'small',
  request: '200-1' as RequestId,
  need: { instances: 1 },
};
const FULL = { rule: 'pool-full', text: 'pool "main" is full' };

let clock: VirtualClock;
let recorder: Recorder;
let launcher: FollowedLauncher;
let fulfilled: PastRequest[];
let lines: PastLine[];

beforeEach(() => {
  clock = new VirtualClock(1_000_000);
  fulfilled = [];
  lines = [];
  recorder = new Recorder({ clock, dirty: () => {}, fulfilled: (past) => fulfilled.push(past) });
  launcher = new FollowedLauncher();
  recorder.follow(launcher);
  launcher.events.emit('poolServes', { pool: POOL, serves: true });
});

let last = 0;
const ask = (): RequestRecord =>
  request(`200-${String(++last).padStart(10, '0')}`, { requestor: 'zuul', createdTimeMs: clock.now() });

function queue(request: RequestRecord, pool = POOL): void {
  launcher.events.emit('requestJudged', { pool, request, group: 'small' });
}

function leave(request: RequestRecord, action: 'defer' | 'decline', reason: DecisionReason): void {
  launcher.events.emit('requestJudged', { pool: POOL, request, why: { action, reason } });
}

function waits(...requests: RequestRecord[]) {
  const waiting = requests.slice(0, 1).map((request) => ({ request, group: 'small', reason: FULL }));
  launcher.events.emit('poolPlanned', { pool: POOL, waits: { waiting, paused: [] } });
}

function become(request: RequestRecord, state: 'fulfilled' | 'failed' | undefined): void {
  const after = state && { ...request, state };
  launcher.requests.notify({ id: request.id, before: request, after });
}

function launching(asked: RequestRecord): NodeRecord {
  const own = { provider: 'cloud', launcher: POOL.launcherId, allocatedTo: asked.id };
  return node('0000000007', { state: 'building', stateTimeMs: clock.now(), ...own });
}

/** The causes of a request, computed from the lines in the file. */
function past(request: RequestRecord): string[] {
  lines.push(...recorder.take().map((line) => decodeLine(encodeLine(line, 5), 5) as PastLine));
  const own = lines.filter((line) => line.kind === 'request' && line.id === request.id);
  const made = lines.filter((line) => line.kind === 'node' && line.facts.request === request.id);
  const told = (found: readonly PastLine[]) =>
    found.flatMap((line) =>
      line.kind === 'alive' ? [] : line.events.map((event) => ({ ...event, launcher: 'nl01' })),
    );
  const nodes = [{ id: '0000000007', events: told(made) }];
  return causesOf({ createdMs: request.createdTimeMs ?? undefined, events: told(own), nodes }).map(shown);
}

const shown = ({ beginMs, endMs, cause }: Interval) =>
  `${beginMs - 1_000_000}..${endMs === undefined ? '' : endMs - 1_000_000} ${cause}`;

describe('the history of a request', () => {
  it('has a cause for each moment from its creation to its end', async () => {
    const [first, second] = [ask(), ask()];
    await clock.advance(10);
    queue(first);
    queue(second);
    waits(first, second);
    await clock.advance(90);
    launcher.events.emit('requestTaken', { pool: POOL, request: first });
    waits(second);
    await clock.advance(100);
    launcher.events.emit('poolPlanned', { pool: POOL, waits: undefined });
    await clock.advance(100);
    launcher.events.emit('requestTaken', { pool: POOL, request: second });
    await clock.advance(5);
    const building = launching(second);
    launcher.nodes.notify({ id: building.id, before: undefined, after: building });
    await clock.advance(95);
    launcher.events.emit('launchProgressed', {
      launch: LAUNCH,
      step: { what: 'stage', stage: 'scanning', node: building },
    });
    await clock.advance(50);
    launcher.nodes.notify({ id: building.id, before: building, after: { ...building, state: 'ready' } });
    await clock.advance(1);
    become(second, 'fulfilled');

    expect(past(second)).toEqual([
      '0..10 unseen',
      '10..200 pool-full',
      '200..300 not-planning',
      '300..305 handling',
      '305..400 launching',
      '400..450 key-scan',
      '450..451 handling',
    ]);
    expect(fulfilled.map(({ request, isOwn }) => [request.id, isOwn])).toEqual([[second.id, true]]);
  });

  it('names the request that held it back, until it was the first itself', async () => {
    const [first, second] = [ask(), ask()];
    queue(first);
    waits(first);
    queue(second);
    await clock.advance(50);
    launcher.events.emit('requestTaken', { pool: POOL, request: first });
    waits(second);
    const events = recorder.request(second.id)?.eventsNow() ?? [];

    expect(events.map(({ what, text }) => [what, text])).toEqual([
      ['queued', first.id],
      ['behind', `behind ${first.id}: ${FULL.text}`],
      ['waits', FULL.text],
    ]);
  });

  it('is in the file while it waits, in case the launcher is killed', async () => {
    const request = ask();
    queue(request);
    waits(request);
    await clock.advance(5);
    const known = past(request);
    await clock.advance(50);
    become(request, undefined);

    expect(known).toEqual(['0.. pool-full']);
    expect(past(request)).toEqual(['0..55 pool-full']);
  });

  it('shows when an accepted request waits for capacity, and when it is put back', async () => {
    const request = ask();
    queue(request);
    launcher.events.emit('poolPlanned', { pool: POOL, waits: { waiting: [], paused: [{ request, reason: FULL }] } });
    launcher.events.emit('requestTaken', { pool: POOL, request });
    await clock.advance(70);
    launcher.events.emit('poolPlanned', { pool: POOL, waits: { waiting: [], paused: [] } });
    await clock.advance(10);
    launcher.events.emit('requestEnded', { outcome: 'put-back', request, provider: 'cloud', pool: 'main' });
    await clock.advance(5);
    become(request, 'failed');

    expect(past(request)).toEqual(['0..70 pool-full', '70..80 handling', '80..85 unseen']);
    expect(fulfilled).toEqual([]);
  });

  it('states why pools do not serve it, once per reason', async () => {
    const request = ask();
    const reason = { rule: 'paused-by-operator', text: 'paused by alice: power works' };
    leave(request, 'defer', reason);
    await clock.advance(30);
    leave(request, 'defer', reason);
    queue(request, OTHER);
    launcher.events.emit('poolPlanned', {
      pool: OTHER,
      waits: { waiting: [{ request, group: 'small', reason: FULL }], paused: [] },
    });
    await clock.advance(30);
    become(request, undefined);

    expect(past(request)).toEqual(['0..30 paused-by-operator', '30..60 pool-full']);
    expect(lines.flatMap((line) => (line.kind === 'request' ? line.events : []))).toHaveLength(4);
  });

  it('is written for a request that every pool declined at once, with the reason', async () => {
    const request = ask();
    const reason = { rule: 'label-elsewhere', text: 'this pool lacks "small"' };
    leave(request, 'decline', reason);
    await clock.advance(20);
    become(request, 'failed');

    const events = recorder.take().flatMap((line) => (line.kind === 'request' ? line.events : []));

    expect(events.map(({ what, rule }) => [what, rule])).toEqual([
      ['declined', reason.rule],
      ['failed', ''],
    ]);
    expect(recorder.openCount).toBe(0);
  });

  it('begins with the take-over in a launcher that never saw the request wait', async () => {
    const request: RequestRecord = { ...ask(), state: 'pending' };
    const before = { ...launching(request), launcher: 'of-the-dead' as typeof POOL.launcherId };
    await clock.advance(40);
    launcher.events.emit('requestTaken', { pool: POOL, request });
    const building = launching(request);
    launcher.nodes.notify({ id: building.id, before, after: building });
    await clock.advance(5);
    launcher.events.emit('launchProgressed', {
      launch: LAUNCH,
      step: { what: 'stage', stage: 'waiting', node: building },
    });
    await clock.advance(50);
    launcher.nodes.notify({ id: building.id, before: building, after: { ...building, state: 'ready' } });
    become(request, 'fulfilled');

    expect(past(request)).toEqual(['0..40 unseen', '40..45 handling', '45..95 launching']);
    expect(lines).toMatchObject([
      { kind: 'request', facts: { labels: ['small'] }, events: [{ what: 'taken' }, { what: 'fulfilled' }] },
      { kind: 'node', events: [{ rule: 'building' }, { rule: 'waiting' }, { rule: 'ready' }] },
    ]);
    expect(fulfilled.map(({ isOwn }) => isOwn)).toEqual([true]);
    expect(recorder.openCount).toBe(0);
  });

  it('is not written for requests that other launchers serve at once', () => {
    const request = ask();
    leave(request, 'defer', { rule: 'label-elsewhere', text: 'this pool lacks "small"' });
    become(request, 'fulfilled');

    expect(recorder.take()).toEqual([]);
    expect(recorder.openCount).toBe(0);
  });
});

describe('what is held in memory', () => {
  it('is nothing once requests and nodes are finished and written', async () => {
    const request = ask();
    queue(request);
    waits(request);
    launcher.events.emit('requestTaken', { pool: POOL, request });
    const building = launching(request);
    launcher.nodes.notify({ id: building.id, before: undefined, after: building });
    recorder.take();
    launcher.nodes.notify({ id: building.id, before: building, after: { ...building, state: 'ready' } });
    become(request, 'fulfilled');
    await clock.advance(10);
    recorder.take();

    expect([recorder.openCount, recorder.request(request.id), recorder.node(building.id)]).toEqual([
      0,
      undefined,
      undefined,
    ]);
  });

  it('is bounded for a request whose reason changes all the time', () => {
    const request = ask();
    queue(request);
    for (let i = 0; i < 5_000; i++) {
      const reason = { rule: i % 2 === 0 ? 'pool-full' : 'max-concurrency', text: 'so many' };
      launcher.events.emit('poolPlanned', {
        pool: POOL,
        waits: { waiting: [{ request, group: 'small', reason }], paused: [] },
      });
      launcher.events.emit('poolPlanned', {
        pool: POOL,
        waits: { waiting: [], paused: i % 2 === 0 ? [{ request, reason }] : [] },
      });
      recorder.take();
    }

    expect(recorder.request(request.id)?.eventsNow().length).toBeLessThan(1_000);
  });
});
