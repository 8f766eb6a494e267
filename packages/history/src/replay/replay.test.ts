import { beforeEach, expect, it } from 'vitest';
import type { DriverRegistry } from '@nodepool/core/config';
import { pastEvent } from '../record/event.js';
import { Past } from './past.js';
import { replay } from './replay.js';

const BEGAN_MS = Date.UTC(2030, 0, 1, 12);
const WINDOW = { sinceMs: BEGAN_MS, untilMs: BEGAN_MS + 1_000 };
const registry: DriverRegistry = {
  get: (name) => Promise.reject(new Error(`no driver ${name}`)),
  reset: () => Promise.resolve(),
  loaded: () => [],
};

let past: Past;

beforeEach(() => {
  past = new Past();
});

function addRequest(id: string, label: string, requestor = 'zuul'): void {
  const facts = { createdMs: BEGAN_MS, labels: [label], requestor, tenant: null };
  past.add({ kind: 'request', id, facts, events: [pastEvent(BEGAN_MS + 5, 'fulfilled')] });
}

it('is refused without recorded requests; internal ones do not count', async () => {
  addRequest('100-0', 'small', 'NodePool:min-ready');

  const result = replay({ past, window: WINDOW, configs: [], registry });

  await expect(result).rejects.toThrow(/no request is on record: launchers keep them for a day/);
  await expect(result).rejects.toMatchObject({ code: 'NODEPOOL_REPLAY' });
});

it('is refused without requests in the window, with the time of those recorded', async () => {
  addRequest('200-0', 'small');
  const window = { sinceMs: BEGAN_MS + 60_000, untilMs: BEGAN_MS + 120_000 };

  await expect(replay({ past, window, configs: [], registry })).rejects.toThrow(
    'no request between 2030-01-01T12:01:00Z and 2030-01-01T12:02:00Z is on record: ' +
      'those there are began between 2030-01-01T12:00:00Z and 2030-01-01T12:00:00Z',
  );
});

it('is refused where labels are no longer served, naming the one with the most requests', async () => {
  for (const [id, label] of Object.entries({ '200-0': 'small', '200-1': 'large', '200-2': 'large', '200-3': 'gone' }))
    addRequest(id, label);

  await expect(replay({ past, window: WINDOW, configs: [], registry, leaveOut: new Set(['gone']) })).rejects.toThrow(
    /serves label "large", which 2 of the recorded requests were given, and 1 more: add it to a pool, .*--leave-out/,
  );
});
