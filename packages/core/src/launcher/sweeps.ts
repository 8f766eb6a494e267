import { delay } from '@nodepool/zk-protocol';
import type { Context } from './state/context.js';
import type { Occasion, Part } from './state/part.js';
import type { ServerClock } from './state/server-clock.js';

const INTERVAL_MS = 60_000;

/** All parts look at everything again. Resolves when they have, whatever failed. */
export async function reconsiderAll(context: Context, parts: readonly Part[], occasion: Occasion): Promise<void> {
  const looks = parts.map(async (part) => {
    await part.reconsider?.(occasion);
  });
  for (const result of await Promise.allSettled(looks)) {
    if (result.status === 'fulfilled') continue;
    const error: unknown = result.reason;
    context.logger.warn('A part of the launcher could not look at everything again', { occasion, error });
  }
}

/**
 * All parts look at everything again each minute, until the launcher drains or stops: a watch event may have been missed, and
 * some changes cause no event.
 */
export async function sweepPeriodically(
  context: Context,
  parts: readonly Part[],
  serverClock: ServerClock,
): Promise<void> {
  const { clock, life } = context;
  while (!life.isDraining) {
    await delay(clock, INTERVAL_MS, life.signal).catch(() => undefined);
    if (life.signal.aborted) break;
    await compareClocks(context, serverClock);
    if (life.isActive) await reconsiderAll(context, parts, 'minute');
  }
}

/** Learns the time of ZooKeeper: each minute, and after a reconnect, as another server may lead. */
export async function compareClocks({ life, logger }: Context, serverClock: ServerClock): Promise<void> {
  try {
    await serverClock.measure(life.signal);
  } catch (error) {
    if (!life.signal.aborted) logger.warn('Could not compare the clock with that of ZooKeeper', { error });
  }
}
