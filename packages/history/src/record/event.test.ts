import { describe, expect, it } from 'vitest';
import { decodeLine, encodeLine, NODE_EVENTS, pastEvent, REQUEST_EVENTS, type PastLine } from './event.js';

const BASE_MS = 1_600_000_000_000;
const ID = '200-0000000001';
const reread = (line: PastLine) => decodeLine(encodeLine(line, BASE_MS), BASE_MS);

describe('a line', () => {
  it('is read as written, with every event', () => {
    const names = [...REQUEST_EVENTS, ...NODE_EVENTS];
    const events = names.map((what, i) => pastEvent(BASE_MS + i, what, `cloud/${i % 2}`, `rule-${i}`, 'a "text"\n'));
    const facts = {
      ...{ createdMs: BASE_MS - 7, labels: ['small', 'größer'], requestor: 'zuul "main"', tenant: 'acme' },
      ...{ relativePriority: 3, provider: 'cloud' },
    };

    expect(reread({ kind: 'request', id: ID, facts, events })).toEqual({ kind: 'request', id: ID, facts, events });
  });

  it('omits unset values', () => {
    const facts = { createdMs: undefined, labels: [], requestor: null, tenant: null };
    const events = [pastEvent(BASE_MS, 'gone')];

    expect(encodeLine({ kind: 'request', id: ID, facts, events }, BASE_MS)).toBe(
      `{"r":"${ID}","t":0,"l":[],"q":null,"e":[[0,"G"]]}`,
    );
    expect(reread({ kind: 'request', id: ID, facts, events })).toEqual({ kind: 'request', id: ID, facts, events });
    expect(reread({ kind: 'request', id: ID, events })).toEqual({ kind: 'request', id: ID, events });
  });

  it('of a node holds labels, pool and resources if it is the first', () => {
    const facts = { request: ID, labels: ['small'], pool: 'cloud/main', resources: { cores: 4 } };
    const first: PastLine = { kind: 'node', id: '7', facts, isFirst: true, events: [pastEvent(BASE_MS, 'gone')] };

    expect(reread(first)).toEqual(first);
    expect(reread({ ...first, isFirst: false })).toEqual({
      ...{ ...first, isFirst: false },
      facts: { request: ID, labels: [], pool: '' },
    });
  });

  it('names a pool once while it stays the same, and again after an event without a pool', () => {
    const pools = ['a/main', 'a/main', '', 'a/main', 'b/main'];
    const events = pools.map((pool, i) => pastEvent(BASE_MS + i, 'waits', pool, 'rule', 'text'));
    const text = encodeLine({ kind: 'request', id: ID, events }, BASE_MS);

    expect(text.match(/main/g)).toHaveLength(3);
    expect(decodeLine(text, BASE_MS)).toMatchObject({ events: pools.map((pool) => ({ pool })) });
  });

  it('records that the launcher was running', () => {
    for (const what of ['alive', 'stop'] as const) {
      const line: PastLine = { kind: 'alive', timeMs: BASE_MS + 5, what };
      expect(reread(line)).toEqual(line);
    }
  });

  it('has texts of limited length', () => {
    expect(pastEvent(0, 'error', '', '', 'x'.repeat(10_000)).text).toBe(`${'x'.repeat(300)}…`);
  });
});

it('ignores lines that were cut off or are not of this format', () => {
  for (const text of ['', '{', '{"r":"200-1","t":1,"e":[[0,"q"', 'null', '[]', '{"r":1}', '{"r":"x","t":"y"}'])
    expect(decodeLine(text, 0)).toBeUndefined();
});

it('ignores unknown events, which later versions may write', () => {
  expect(decodeLine('{"r":"x","t":1,"e":[[0,"?"],7,[0,"G"]]}', 0)).toMatchObject({
    id: 'x',
    events: [{ what: 'gone' }],
  });
});
