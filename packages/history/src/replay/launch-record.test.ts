import { beforeEach, describe, expect, it } from 'vitest';
import type { Resources } from '@nodepool/zk-protocol';
import { pastEvent } from '../record/event.js';
import { LaunchRecord } from './launch-record.js';
import { Past } from './past.js';

let past: Past;
let nodes: number;

beforeEach(() => {
  past = new Past();
  nodes = 0;
});

interface Launch {
  readonly pool: string;
  readonly label: string;
  readonly request: string;
  readonly beganMs: number;
  readonly tookMs: number;
  readonly end: 'ready' | 'failed' | 'aborted';
  readonly resources: Resources;
  readonly goneMs: number;
}

function addLaunch(changes: Partial<Launch>): void {
  const { pool = 'cloud/main', label = 'small', request = `r${nodes}`, resources, ...times } = changes;
  const { beganMs = 0, tookMs = 10, end = 'ready', goneMs } = times;
  const state = (timeMs: number, name: string) => pastEvent(timeMs, 'state', '', name);
  const events = [state(beganMs, 'building'), state(beganMs + tookMs, end)];
  if (goneMs !== undefined) events.push(state(goneMs - 3, 'deleting'), pastEvent(goneMs, 'gone'));
  const facts = { request, labels: [label], pool, ...(resources && { resources }) };
  past.add({ kind: 'node', id: String(++nodes), isFirst: true, facts, events });
}

describe('the launch to simulate', () => {
  it('is the one recorded for the same request, once', () => {
    addLaunch({ request: 'r1', tookMs: 77 });
    addLaunch({ request: 'r2', tookMs: 5 });
    const record = new LaunchRecord(past);

    expect(record.launch('cloud', 'small', 'r1', 0).tookMs).toBe(77);
    expect([1, 2].map(() => record.launch('cloud', 'small', 'r1', 0).tookMs).sort()).toEqual([5, 77]);
  });

  it('is a neighbour in time, each used about equally often', () => {
    for (let i = 0; i < 100; i++) addLaunch({ beganMs: i * 1_000, tookMs: i });
    const record = new LaunchRecord(past);

    const taken = Array.from({ length: 32 }, () => record.launch('cloud', 'small', null, 50_000).tookMs);

    expect(new Set(taken).size).toBe(16);
    expect([Math.min(...taken), Math.max(...taken)]).toEqual([42, 57]);
  });

  it('is that of another label or provider where there is none, which is reported', () => {
    addLaunch({ label: 'large', tookMs: 44 });
    const record = new LaunchRecord(past);

    expect(record.launch('cloud', 'small', null, 0).tookMs).toBe(44);
    expect(record.launch('other', 'large', null, 0).tookMs).toBe(44);
    expect(record.launch('other', 'small', null, 0).tookMs).toBe(44);
    expect(record.guessed).toEqual(['large of other', 'small of cloud', 'small of other']);
  });

  it('fails as the recorded one, and never takes an aborted one', () => {
    addLaunch({ end: 'aborted', tookMs: 1 });
    addLaunch({ end: 'failed', tookMs: 30 });

    expect(new LaunchRecord(past).launch('cloud', 'small', null, 0)).toMatchObject({ isReady: false, tookMs: 30 });
  });

  it('assumes a minute if nothing is recorded', () => {
    expect(new LaunchRecord(past).launch('cloud', 'small', null, 0)).toMatchObject({ tookMs: 60_000, isReady: true });
  });
});

it('prefers deletions of the same provider', () => {
  addLaunch({ goneMs: 1_000 });
  const record = new LaunchRecord(past);

  expect([record.deletionMs('cloud', 0), record.deletionMs('other', 0)]).toEqual([3, 3]);
  expect(new LaunchRecord(new Past()).deletionMs('cloud', 0)).toBe(5_000);
});

it('prefers the resources of a node in the same pool', () => {
  addLaunch({ pool: 'cloud/main', resources: { cores: 4 } });
  addLaunch({ pool: 'cloud/large', resources: { cores: 8 } });
  const record = new LaunchRecord(past);

  expect(record.needOf('cloud', 'main', 'small')).toEqual({ cores: 4, instances: 1 });
  expect(record.needOf('other', 'main', 'small')).toEqual({ cores: 8, instances: 1 });
  expect(record.needOf('cloud', 'main', 'unknown')).toEqual({ instances: 1 });
});

it('estimates a quota as the highest usage, for providers whose quota kept requests waiting', () => {
  addLaunch({ beganMs: 0, goneMs: 500, resources: { cores: 4 } });
  addLaunch({ beganMs: 100, goneMs: 600, resources: { cores: 2 } });
  addLaunch({ beganMs: 700, goneMs: 900, resources: { cores: 5 } });
  addLaunch({ pool: 'other/main', goneMs: 900 });
  const text = 'provider "cloud": label "small" needs 1 instance, 0 free';
  const facts = { createdMs: 0, labels: ['small'], requestor: 'zuul', tenant: null };
  past.add({ kind: 'request', id: 'r9', facts, events: [pastEvent(0, 'waits', 'cloud/main', 'pool-full', text)] });

  expect([...new LaunchRecord(past).ceilings]).toEqual([['cloud', { cores: 6, instances: 2 }]]);
});
