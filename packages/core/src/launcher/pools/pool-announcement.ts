import { newPoolComponent, withComponent, type PoolComponentRecord } from '@nodepool/zk-protocol';
import { certificateModeOf } from '../../contract/certificate-mode.js';
import { FIRST_POOL_PAUSE_MS } from '../health/first-pool.js';
import { shortName } from '../registry/registration.js';
import type { Context } from '../state/context.js';
import type { LivePoolView } from '../view/pool-view.js';

/** The registry entry of a pool. */
export function announce(context: Context, view: LivePoolView): PoolComponentRecord {
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
    ...published(context, view),
  });
}

/** The entry with the pool's current labels, priority, pause and health; the same object if none of them changed. */
export function refreshed(context: Context, entry: PoolComponentRecord, view: LivePoolView): PoolComponentRecord {
  const now = published(context, view);
  const isSame =
    entry.priority === now.priority &&
    entry.paused === now.paused &&
    (entry.health ?? null) === now.health &&
    (entry.leaseCertificates ?? null) === now.leaseCertificates &&
    (entry.firstPoolPauseMs ?? null) === now.firstPoolPauseMs &&
    (entry.notLent ?? null) === now.notLent &&
    isSameList(entry.stoppedSpares, now.stoppedSpares) &&
    isSameList(entry.supportedLabels, now.supportedLabels);
  return isSame ? entry : withComponent(entry, now);
}

const isSameList = (a: readonly string[] | null | undefined, b: readonly string[]) =>
  a?.length === b.length && b.every((each, i) => each === a[i]);

/** What changes in an entry: among others the health of the provider, and how long requests are left to first pools. */
function published({ config }: Context, { pool, provider, priority, yieldsPrecedence, steering }: LivePoolView) {
  const supportedLabels = [...pool.labels.keys()];
  const configured = config.now.providers.get(provider);
  const leaseCertificates = (configured && certificateModeOf(configured)) ?? null;
  const notLent = pool.notLent ?? null;
  const stoppedSpares = supportedLabels.filter((label) => config.now.labels.get(label)?.keep === 'stopped');
  const common = { supportedLabels, priority, paused: yieldsPrecedence, leaseCertificates, notLent, stoppedSpares };
  if (!steering) return { ...common, health: null, firstPoolPauseMs: 0 };
  const health = steering.report().provider.state === 'healthy' ? null : 'open';
  return { ...common, health, firstPoolPauseMs: FIRST_POOL_PAUSE_MS } as const;
}
