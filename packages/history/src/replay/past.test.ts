import { beforeEach, describe, expect, it } from 'vitest';
import { pastEvent, type PastEvent } from '../record/event.js';
import { Past } from './past.js';

const ID = '200-0000000001';
const DAY_MS = 86_400_000;

let past: Past;

beforeEach(() => {
  past = new Past();
});

function addRequest(createdMs: number | undefined, ...events: PastEvent[]): void {
  const facts = { createdMs, labels: ['small'], requestor: 'zuul', tenant: null };
  past.add({ kind: 'request', id: ID, ...(createdMs !== undefined && { facts }), events });
}
function addNode(request: string | undefined, ...events: PastEvent[]): void {
  const facts = { request, labels: ['small'], pool: 'rack/main' };
  past.add({ kind: 'node', id: '7', isFirst: true, facts, events });
}
const state = (timeMs: number, name: string) => pastEvent(timeMs, 'state', '', name);

describe('requests', () => {
  it('are merged from the lines of several launchers; the first end counts', () => {
    addRequest(10, pastEvent(20, 'queued'));
    addRequest(11, pastEvent(30, 'fulfilled'));
    addRequest(undefined, pastEvent(40, 'gone'));

    expect(past.requests).toMatchObject([{ id: ID, createdMs: 10, outcome: 'fulfilled', endMs: 30 }]);
    expect([past.fromMs, past.toMs]).toEqual([20, 40]);
  });

  it('are the newest ones where a new ensemble has reused an id', () => {
    addRequest(10, pastEvent(30, 'fulfilled'));
    addRequest(DAY_MS, pastEvent(DAY_MS + 5, 'failed'));

    expect(past.requests).toMatchObject([{ createdMs: DAY_MS, outcome: 'failed' }]);
  });

  it('are left out while their facts are unknown', () => {
    addRequest(undefined, pastEvent(40, 'fulfilled'));

    expect(past.requests).toEqual([]);
  });

  it('name the providers whose quota held them back, and no pool limits', () => {
    const full = (text: string) => pastEvent(20, 'waits', 'cloud/main', 'pool-full', text);
    addRequest(
      10,
      full('provider "cloud": label "small" needs 1 instance, 0 free'),
      full('pool "main": label "small" needs 1 instance, 0 free'),
    );

    expect([...(past.requests[0]?.shortProviders ?? [])]).toEqual(['cloud']);
  });
});

describe('uses of a node', () => {
  it('have the times of its launch, use and deletion', () => {
    addNode(ID, state(10, 'building'), pastEvent(10, 'stage', '', 'creating'), pastEvent(15, 'stage', '', 'creating'));
    addNode(
      ID,
      state(20, 'ready'),
      state(21, 'in-use'),
      state(50, 'used'),
      state(51, 'deleting'),
      pastEvent(60, 'gone'),
    );

    expect(past.uses).toMatchObject([
      {
        ...{ request: ID, attempts: 2, launchBeganMs: 10, launchEndedMs: 20, launched: 'ready' },
        ...{ usedMs: 50, deletingMs: 51, goneMs: 60, endMs: 60 },
      },
    ]);
  });

  it('end where a standby node is allocated to a request', () => {
    addNode(undefined, state(10, 'building'), state(20, 'ready'));
    addNode(ID, state(40, 'in-use'));

    const uses = past.uses;

    expect(uses).toMatchObject([
      { request: undefined, endMs: 40 },
      { request: ID, beginMs: 40 },
    ]);
    expect(uses[1]?.endMs).toBeUndefined();
  });

  it('have no launch outcome if the node existed already', () => {
    addNode(ID, state(10, 'ready'));

    expect(past.uses[0]).not.toHaveProperty('launched');
  });

  it('are complete if one of several launchers, in whatever order, saw only the end', () => {
    const all = [state(10, 'building'), state(20, 'ready'), state(50, 'used'), pastEvent(60, 'gone')];
    const whole = { beginMs: 10, launchBeganMs: 10, launched: 'ready', usedMs: 50, goneMs: 60 };
    addNode(ID, ...all);
    addNode(ID, pastEvent(61, 'gone'));

    expect(past.uses).toMatchObject([whole]);
    past = new Past();
    addNode(ID, pastEvent(61, 'gone'));
    addNode(ID, ...all);
    expect(past.uses).toMatchObject([whole]);
  });

  it('start again when the id returns after the node was gone', () => {
    addNode(ID, state(10, 'in-use'), pastEvent(20, 'gone'));
    addNode(ID, state(DAY_MS, 'in-use'));

    expect(past.uses).toMatchObject([{ beginMs: DAY_MS }]);
  });
});
