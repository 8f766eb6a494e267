import { unfinishedAfter } from '../async/unfinished-after.js';
import type { LauncherParts } from './assemble.js';

/**
 * Accepts nothing more and leaves the registry; requests under way are brought to their end. What cannot be done within
 * the deadline, such as everything while ZooKeeper is away, is named in the log and left for other launchers.
 */
export async function drain(parts: LauncherParts, deadlineMs: number): Promise<void> {
  const { services, life, pools, providers, reaper, lateUnlocks, registration } = parts;
  if (life.isDraining) return;
  life.isDraining = true;
  const { clock, logger, zk } = services;
  const isIdle = !reaper.isBusy && pools.configured.every(({ load }) => load.handling === 0);
  const limitMs = zk.state !== 'CONNECTED' && isIdle ? 0 : deadlineMs;
  const endMs = clock.now() + limitMs;
  const requests = pools.drain();
  providers.close();
  const steps: [string, () => Promise<unknown>][] = [
    ['requests under way and the registration of pools', () => requests],
    ['deletions and providers', () => Promise.all([reaper.stop(), providers.stop()])],
    ['the locks of fulfilled requests', () => lateUnlocks.flush()],
    ['the registration of the launcher', () => registration.remove()],
  ];
  const unfinished: string[] = [];
  for (const [what, begin] of steps) {
    unfinished.push(...(await unfinishedAfter(Math.max(0, endMs - clock.now()), clock, new Map([[what, begin()]]))));
  }
  if (unfinished.length === 0) return;
  logger.warn('Not everything could be finished in time; other launchers will take over', {
    deadlineMs,
    unfinished: unfinished.join('; '),
    zookeeper: zk.state === 'CONNECTED' ? 'connected' : 'away; what is ours there ends with the session',
  });
}
