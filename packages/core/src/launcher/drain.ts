import { unfinishedAfter } from '../async/time-limit.js';
import { steadyNow, type Clock, type ComponentRecord } from '@nodepool/zk-protocol';
import type { Reaper } from './nodes/reaper.js';
import type { PoolSet } from './pools/pool-set.js';
import { announceStop } from './registry/gone-launchers.js';
import type { Registration } from './registry/registration.js';
import type { Context } from './state/context.js';
import type { Part } from './state/part.js';

/** What a launcher that drains looks at. */
export interface DrainedParts {
  readonly context: Context;
  readonly pools: PoolSet;
  readonly reaper: Reaper;
  readonly parts: readonly Part[];
  readonly registration: Registration<ComponentRecord>;
}

const SAY_AGAIN_MS = 30_000;

/** Calls the function until the returned one is called. */
function repeat(clock: Clock, ms: number, fn: () => void): () => void {
  let cancel = clock.setTimer(ms, function again() {
    fn();
    cancel = clock.setTimer(ms, again);
  });
  return () => cancel();
}

/**
 * Accepts no more requests, finishes the work on accepted ones, and leaves the registry. Logs what could not be finished
 * within the deadline; other launchers take it over.
 */
export async function drain(drained: DrainedParts, deadlineMs: number): Promise<void> {
  const { context, pools, reaper, parts, registration } = drained;
  const { life } = context;
  if (life.isDraining) return;
  life.isDraining = true;
  announceStop(registration);
  const { clock, logger, zk } = context;
  const isIdle = reaper.busy.length === 0 && pools.configured.every(({ load }) => load.handling === 0);
  logger.info('Finishing what is in progress; SIGQUIT leaves it to the other launchers', {
    requests: pools.configured.reduce((sum, { load }) => sum + load.handling, 0),
    deletions: reaper.busy,
  });
  const limitMs = zk.state !== 'CONNECTED' && isIdle ? 0 : deadlineMs;
  const endMs = steadyNow(clock) + limitMs;
  for (const part of parts) part.close?.();
  const unfinished: string[] = [];
  for (const part of [...parts].reverse()) {
    if (!part.drain) continue;
    const what = part.drains ?? 'its parts';
    const leftMs = Math.max(0, endMs - steadyNow(clock));
    const end = repeat(clock, SAY_AGAIN_MS, () => logger.info('Still waiting before the stop', { for: what }));
    unfinished.push(...(await unfinishedAfter(leftMs, clock, new Map([[what, part.drain()]])).finally(end)));
  }
  if (unfinished.length === 0) return;
  logger.warn('Not everything could be finished in time; other launchers will take over', {
    deadlineMs,
    unfinished: unfinished.join('; '),
    zookeeper:
      zk.state === 'CONNECTED' ? 'connected' : 'disconnected; our locks and registrations expire with the session',
  });
}

/** Announces the stop and begins no more orders in clouds. Resolves when those that were begun have ended, and what they made is stored. */
export function endOrders({ context, registration }: Pick<DrainedParts, 'context' | 'registration'>): Promise<void> {
  announceStop(registration);
  return context.life.orders.end();
}
