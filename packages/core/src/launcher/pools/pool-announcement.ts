import { newPoolComponent, withComponent, type PoolComponentRecord } from '@nodepool/zk-protocol';
import type { Services } from '../mirror/services.js';
import type { Logger } from '../../contract/logger.js';
import type { PoolPort } from './pool-port.js';
import type { LivePoolView } from './pool-view.js';
import { legacyRegistry, Registration } from './registration.js';
import { shortName } from './short-name.js';

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
    const supportedLabels = [...pool.labels.keys()];
    const same =
      body.priority === priority &&
      body.paused === paused &&
      body.supportedLabels.length === supportedLabels.length &&
      body.supportedLabels.every((label, i) => label === supportedLabels[i]);
    if (same) return;
    this.#registration.update(withComponent(body, { supportedLabels, priority, paused }));
    this.#legacy?.update(this.#registration.body);
  }
}
