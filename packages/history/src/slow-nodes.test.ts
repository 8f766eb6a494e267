import { VirtualClock } from '@nodepool/core/testing';
import { beforeEach, expect, it } from 'vitest';
import { node } from '../test/support/records.js';
import { SlowNodes } from './slow-nodes.js';

const MINUTE_MS = 60_000;

let clock: VirtualClock;
let slow: SlowNodes;
let told: string[];

beforeEach(() => {
  clock = new VirtualClock();
  told = [];
  const tooLong = (provider: string, state: string) => told.push(`${provider} ${state}`);
  slow = new SlowNodes({ clock, isOwn: (id) => id === 'own', tooLong });
});

function become(id: string, state: 'building' | 'deleting' | 'ready' | undefined, launcher = 'own'): void {
  const after = state && node(id, { state, launcher, stateTimeMs: clock.now() });
  slow.nodeChanged({ id, before: undefined, after });
}

it('reports a node once whose launch or deletion takes too long', async () => {
  become('1', 'building');
  become('2', 'building');
  become('3', 'deleting');
  become('4', 'building', 'of-another-launcher');
  await clock.advance(9.5 * MINUTE_MS);
  become('2', 'ready');
  await clock.advance(90 * MINUTE_MS);

  expect(told).toEqual(['rack deleting', 'rack building']);
  expect(clock.pendingTimers).toBe(0);
});

it('reports a node again when it exceeds the limit of another state', async () => {
  become('1', 'building');
  await clock.advance(20 * MINUTE_MS);
  become('1', 'deleting');
  await clock.advance(20 * MINUTE_MS);
  become('1', undefined);
  await clock.advance(20 * MINUTE_MS);

  expect(told).toEqual(['rack building', 'rack deleting']);
});
