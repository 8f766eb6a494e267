import { unfinishedAfter } from '../async/time-limit.js';
import { steadyNow, type Clock, type ComponentRecord } from '@nodepool/zk-protocol';
import type { Reaper } from './nodes/reaper.js';
import type { PoolSet } from './pools/pool-set.js';
import type { ProviderSet } from './providers/provider-set.js';
import type { Registration } from './registry/registration.js';
import type { LateUnlocks } from './requests/late-unlocks.js';
import type { Context } from './state/context.js';

/** The parts of a launcher that finish their work when it drains. */
export interface DrainedParts {
  readonly context: Context;
  readonly pools: PoolSet;
  readonly providers: ProviderSet;
  readonly reaper: Reaper;
  readonly unlocks: LateUnlocks;
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
export async function drain(parts: DrainedParts, deadlineMs: number): Promise<void> {
  const { context, pools, providers, reaper, unlocks, registration } = parts;
  const { life } = context;
  if (life.isDraining) return;
  life.isDraining = true;
  const { clock, logger, zk } = context;
  const isIdle = !reaper.isBusy && pools.configured.every(({ load }) => load.handling === 0);
  logger.info('Finishing what is in progress; SIGQUIT leaves it to the other launchers', {
    requests: pools.configured.reduce((sum, { load }) => sum + load.handling, 0),
    deletions: reaper.busy,
  });
  const limitMs = zk.state !== 'CONNECTED' && isIdle ? 0 : deadlineMs;
  const endMs = steadyNow(clock) + limitMs;
  const requests = pools.drain();
  providers.close();
  const steps: [string, () => Promise<unknown>][] = [
    ['requests in progress and the registration of pools', () => requests],
    ['deletions and providers', () => Promise.all([reaper.stop(), providers.stop()])],
    ['the locks of fulfilled requests', () => unlocks.flush()],
    ['the registration of the launcher', () => registration.remove()],
  ];
  const unfinished: string[] = [];
  for (const [what, begin] of steps) {
    const leftMs = Math.max(0, endMs - steadyNow(clock));
    const end = repeat(clock, SAY_AGAIN_MS, () => logger.info('Still waiting before the stop', { for: what }));
    unfinished.push(...(await unfinishedAfter(leftMs, clock, new Map([[what, begin()]])).finally(end)));
  }
  if (unfinished.length === 0) return;
  logger.warn('Not everything could be finished in time; other launchers will take over', {
    deadlineMs,
    unfinished: unfinished.join('; '),
    zookeeper:
      zk.state === 'CONNECTED' ? 'connected' : 'disconnected; our locks and registrations expire with the session',
  });
}
