import { isDeepStrictEqual } from 'node:util';
import { newPoolComponent, withComponent, type PoolComponentRecord } from '@nodepool/zk-protocol';
import { FIRST_POOL_PAUSE_MS } from '../plan/first-pool.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import { shortName } from '../registry/registration.js';
import type { Context } from '../state/context.js';
import type { LivePoolView } from '../view/pool-view.js';

type Announcements = Pick<PoolRegistry, 'announced'>;

/** The registry entry of a pool. */
export function announce(context: Context, view: LivePoolView, registry: Announcements): PoolComponentRecord {
  const { hostname, version } = context;
  const { launcherId, pool, provider } = view;
  return newPoolComponent({
    ...{
      hostname: shortName(hostname),
      state: 'running',
      version,
      launcherId,
      name: pool.name,
      providerName: provider,
    },
    ...published(view),
    raw: registry.announced([...pool.labels.keys()], provider),
  });
}

/** The entry with the pool's current labels, priority, pause and health; the same object if none of them changed. */
export function refreshed(
  entry: PoolComponentRecord,
  view: LivePoolView,
  registry: Announcements,
): PoolComponentRecord {
  const now = published(view);
  const raw = registry.announced(now.supportedLabels, view.provider);
  const isSame =
    entry.priority === now.priority &&
    entry.paused === now.paused &&
    (entry.health ?? null) === now.health &&
    (entry.firstPoolPauseMs ?? null) === now.firstPoolPauseMs &&
    (entry.notLent ?? null) === now.notLent &&
    isDeepStrictEqual(entry.raw, raw) &&
    isDeepStrictEqual(entry.supportedLabels, now.supportedLabels);
  return isSame ? entry : withComponent(entry, { ...now, raw });
}

/** What changes in an entry: among others the health of the provider, and how long requests are left to first pools. */
function published({ pool, priority, yieldsPrecedence, steering }: LivePoolView) {
  const supportedLabels = [...pool.labels.keys()];
  const notLent = pool.notLent ?? null;
  const common = { supportedLabels, priority, paused: yieldsPrecedence, notLent };
  if (!steering) return { ...common, health: null, firstPoolPauseMs: 0 };
  const health = steering.report().provider.state === 'healthy' ? null : 'open';
  return { ...common, health, firstPoolPauseMs: FIRST_POOL_PAUSE_MS } as const;
}
