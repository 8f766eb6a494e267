import { newPoolComponent, withComponent, type PoolComponentRecord } from '@nodepool/zk-protocol';
import type { Services } from '../mirror/services.js';
import type { Logger } from '../../contract/logger.js';
import type { PoolPort } from './pool-port.js';
import type { LivePoolView } from './pool-view.js';
import { legacyRegistry, Registration } from './registration.js';
import { shortName } from './short-name.js';
import { FIRST_POOL_PAUSE_MS } from '../steering/first-pool.js';

/** A pool's entries in the registry, and where old launchers look if asked to. */
export class PoolAnnouncement {
  readonly #view: LivePoolView;
  readonly #registration: Registration<PoolComponentRecord>;
  readonly #legacy: Registration<PoolComponentRecord> | undefined;

  constructor(
    services: Services,
    port: Pick<PoolPort, 'version' | 'announceLegacy'>,
    view: LivePoolView,
    logger: Logger,
  ) {
    this.#view = view;
    const { launcherId, pool, provider } = view;
    const component = newPoolComponent({
      hostname: shortName(services.hostname),
      state: 'running',
      version: port.version,
      launcherId,
      name: pool.name,
      providerName: provider,
      supportedLabels: [...pool.labels.keys()],
      priority: view.priority,
      paused: view.yieldsPrecedence,
      ...steeringOf(view),
    });
    this.#registration = new Registration(services.zk, component, logger);
    if (port.announceLegacy) {
      this.#legacy = new Registration(services.zk, component, logger, legacyRegistry(launcherId));
    }
  }

  /** True once the entry has been made; the registry may not show it yet. */
  get made(): boolean {
    return this.#registration.id !== undefined;
  }

  /** Registers, or registers again in a new session. */
  async register(): Promise<void> {
    await Promise.all([this.#registration.register(), this.#legacy?.register()]);
  }

  async remove(): Promise<void> {
    await Promise.all([this.#registration.remove(), this.#legacy?.remove()]);
  }

  /** Publishes labels, priority and pause as they are now, if they changed. Returns at once. */
  refresh(): void {
    const { body } = this.#registration;
    const { pool, priority, yieldsPrecedence: paused } = this.#view;
    const { health, firstPoolPauseMs } = steeringOf(this.#view);
    const supportedLabels = [...pool.labels.keys()];
    const same =
      body.priority === priority &&
      body.paused === paused &&
      (body.health ?? null) === health &&
      (body.firstPoolPauseMs ?? null) === firstPoolPauseMs &&
      body.supportedLabels.length === supportedLabels.length &&
      body.supportedLabels.every((label, i) => label === supportedLabels[i]);
    if (same) return;
    this.#registration.update(withComponent(body, { supportedLabels, priority, paused, health, firstPoolPauseMs }));
    this.#legacy?.update(this.#registration.body);
  }
}

/** What other launchers and people are told of the health of the provider, and of how the pool shares requests. */
function steeringOf({ steering }: LivePoolView): Required<Pick<PoolComponentRecord, 'health' | 'firstPoolPauseMs'>> {
  if (!steering) return { health: null, firstPoolPauseMs: 0 };
  const { state } = steering.report().provider;
  return { health: state === 'closed' ? null : 'open', firstPoolPauseMs: FIRST_POOL_PAUSE_MS };
}
