import { describe, expect, it } from 'vitest';
import { causesOf, causesOfRequest } from './causes.js';
import { pastEvent, type PastEvent } from './event.js';

const POOL = 'cloud/main';
const FACTS = { createdMs: 1_000, labels: ['small'], requestor: null, tenant: null };
const queued = (timeMs: number, pool = POOL) => pastEvent(timeMs, 'queued', pool);
const taken = (timeMs: number) => pastEvent(timeMs, 'taken', POOL);
const fulfilled = (timeMs: number) => pastEvent(timeMs, 'fulfilled');
const GIVEN = [pastEvent(1_010, 'allocated', '', '', 'r1'), pastEvent(1_040, 'state', '', 'in-use')];

function request(events: PastEvent[], node: PastEvent[] = []) {
  const nodes = [{ id: 'n1', facts: { request: 'r1', labels: ['small'], pool: POOL }, events: node }];
  return { id: 'r1', facts: FACTS, events, nodes, eventsNow: () => events };
}

it('separates an outage of the cloud from the launch it interrupts', () => {
  const stage = (timeMs: number, name: string) => pastEvent(timeMs, 'stage', '', name);
  const node = [stage(1_020, 'creating'), stage(2_000, 'cloud-away'), stage(9_000, 'waiting')];
  const causes = causesOfRequest(request([taken(1_010), fulfilled(9_500)], node));

  expect(causes.map(({ cause, beginMs, endMs }) => [cause, beginMs, endMs])).toEqual([
    ['unseen', 1_000, 1_010],
    ['handling', 1_010, 1_020],
    ['launching', 1_020, 2_000],
    ['cloud-away', 2_000, 9_000],
    ['launching', 9_000, 9_500],
  ]);
});

it('says that the session of its launcher was lost, and not that the request was put back', () => {
  const ended = (outcome: string) => pastEvent(2_000, 'ended', POOL, outcome);
  const textAfter = (outcome: string) => causesOfRequest(request([taken(1_000), ended(outcome)])).at(-1)?.text;

  expect(textAfter('abandoned')).toContain('lost its ZooKeeper session');
  expect(textAfter('put-back')).toContain('put back');
});

describe('causes of a request that was served at once', () => {
  it('are the same as those computed from all events', () => {
    const pasts = [
      request([taken(1_010), fulfilled(1_030)], GIVEN),
      request([queued(1_005), taken(1_010), fulfilled(1_030)], GIVEN),
      request([queued(1_010), taken(1_010), fulfilled(1_010)]),
      request([queued(990), taken(995), fulfilled(999)]),
      request([queued(990), taken(995), fulfilled(1_030)]),
      request([queued(1_005, 'other/main'), taken(1_010), fulfilled(1_030)]),
      request([queued(1_020), taken(1_010), fulfilled(1_030)]),
      request([taken(1_040), fulfilled(1_030)]),
      request([taken(1_010)]),
      request([queued(1_005), pastEvent(1_006, 'waits', POOL, 'quota', 'full'), taken(1_010), fulfilled(1_030)]),
      request([taken(1_010), fulfilled(1_030)], [pastEvent(1_015, 'state', '', 'building')]),
    ];

    for (const past of pasts)
      expect(causesOfRequest(past)).toEqual(causesOf({ createdMs: 1_000, events: past.events, nodes: past.nodes }));
  });

  it('are the times until it was seen, until it was accepted and until it was fulfilled', () => {
    const causes = causesOfRequest(request([queued(1_005), taken(1_010), fulfilled(1_030)], GIVEN));

    expect(causes.map(({ cause, beginMs, endMs }) => [cause, beginMs, endMs])).toEqual([
      ['unseen', 1_000, 1_005],
      ['planning', 1_005, 1_010],
      ['handling', 1_010, 1_030],
    ]);
  });
});
