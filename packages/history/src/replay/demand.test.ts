import { expect, it } from 'vitest';
import { pastEvent } from '../record/event.js';
import { demandOf } from './demand.js';
import { Past } from './past.js';

it('submits the requests of requestors again, in order, and leaves those of launchers out', () => {
  const past = new Past();
  for (const [id, createdMs, requestor] of [
    ['200-2', 20, 'zuul'],
    ['200-1', 10, 'NodePool:cli:alice@desk'],
    ['900-3', 15, 'NodePool:min-ready'],
  ] as const) {
    const facts = { createdMs, labels: ['small'], requestor, tenant: null };
    past.add({ kind: 'request', id, facts, events: [pastEvent(createdMs, 'queued')] });
  }

  expect(demandOf(past, { sinceMs: 0, untilMs: 100 }).map(({ id }) => id)).toEqual(['200-1', '200-2']);
});
