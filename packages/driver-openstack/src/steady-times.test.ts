// Durations do not change when the system time is set.
import { DATABASE_ID_TAG, NODE_ID_TAG, PROVIDER_TAG } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { Cached } from './cached.js';
import { CapacityMemory } from './capacity-memory.js';
import { OpenStackError } from './client/errors.js';
import { RefusedLogins } from './client/refused-logins.js';
import { PortCleanup } from './port-cleanup.js';

const MINUTE_MS = 60_000;
const SERVER = {
  externalId: 's1',
  metadata: { [PROVIDER_TAG]: 'rack', [NODE_ID_TAG]: '1', [DATABASE_ID_TAG]: 'db' },
} as never;

/** Begins something that lasts ten minutes, or one, and tells whether it still does. */
const LASTING: [string, minutes: number, begin: (clock: VirtualClock) => () => unknown][] = [
  [
    'a cached value',
    10,
    (clock) => {
      let reads = 0;
      const cached = new Cached(clock, 10 * MINUTE_MS, () => Promise.resolve(++reads));
      void cached.get();
      return () => {
        void cached.get();
        return reads === 1;
      };
    },
  ],
  [
    'a cached value that a failure may flush',
    10,
    (clock) => {
      const cached = new Cached(clock, 60 * MINUTE_MS, () => Promise.resolve(1));
      void cached.get();
      return () => !cached.flush(10 * MINUTE_MS);
    },
  ],
  [
    'the memory of a full zone',
    1,
    (clock) => {
      const memory = new CapacityMemory(clock);
      const place = { zone: 'az1', flavorId: 'small', networks: 'auto' } as const;
      memory.noteFull(place, 'No valid host was found.');
      return () => memory.isFull(place);
    },
  ],
  [
    'the pause after refused credentials',
    1,
    (clock) => {
      const logins = new RefusedLogins();
      const credentials = { auth: { authUrl: 'https://keystone.example' }, stamp: '1' } as never;
      logins.refused(
        credentials,
        new OpenStackError('unauthorized', 'wrong password', { service: 'identity', method: 'POST', path: '/' }),
        clock,
      );
      return () => {
        try {
          logins.check(credentials, clock);
          return false;
        } catch {
          return true;
        }
      };
    },
  ],
  [
    'the first sight of an orphaned port',
    10,
    (clock) => {
      const options = { clock, provider: 'rack', databaseId: 'db', intervalMs: 10 * MINUTE_MS };
      const cleanup = new PortCleanup(options);
      cleanup.saw([SERVER]);
      cleanup.saw([]);
      const port = { id: 'p1', status: 'DOWN', deviceId: 's1', deviceOwner: 'compute:az1', vnicType: 'normal' };
      cleanup.orphansOf([port as never]);
      return () => cleanup.orphansOf([port as never]).length === 0;
    },
  ],
  [
    'the pause between two lists of ports',
    1,
    (clock) => {
      const options = { clock, provider: 'rack', databaseId: 'db', intervalMs: MINUTE_MS };
      const cleanup = new PortCleanup(options);
      cleanup.noted(SERVER);
      cleanup.orphansOf([]);
      return () => !cleanup.isDue;
    },
  ],
];

const STEPS_MS = [-60 * MINUTE_MS, -2 * MINUTE_MS, 2 * MINUTE_MS, 60 * MINUTE_MS];

it.each(LASTING.flatMap(([what, minutes, begin]) => STEPS_MS.map((byMs) => [what, byMs, minutes, begin] as const)))(
  '%s lasts as long as ever when the clock is set by %i ms',
  async (_what, byMs, minutes, begin) => {
    const clock = new VirtualClock();
    const lasts = begin(clock);

    clock.set(clock.now() + byMs);
    await clock.advance(minutes * MINUTE_MS - 1_000);
    const before = lasts();
    await clock.advance(2_000);

    expect([before, lasts()]).toEqual([true, false]);
  },
);
