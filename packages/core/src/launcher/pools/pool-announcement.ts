import { newPoolComponent, withComponent, type PoolComponentRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import type { LivePoolView } from '../view/pool-view.js';
import { Registration } from '../registry/registration.js';
import { shortName } from '../registry/short-name.js';
import { FIRST_POOL_PAUSE_MS } from '../health/first-pool.js';

/** A pool's entries in the registry, and where old launchers look if asked to. */
export class PoolAnnouncement {
  readonly #view: LivePoolView;
  readonly #registration: Registration<PoolComponentRecord>;
  readonly #legacy: Registration<PoolComponentRecord> | undefined;

  /** @param isLegacy - also registers below `/nodepool/launchers`, where old launchers and an old Zuul look */
  constructor(context: Context, view: LivePoolView, isLegacy: boolean) {
    this.#view = view;
    const { launcherId, pool, provider } = view;
    const component = newPoolComponent({
      hostname: shortName(context.hostname),
      state: 'running',
      version: context.version,
      launcherId,
      name: pool.name,
      providerName: provider,
      supportedLabels: [...pool.labels.keys()],
      priority: view.priority,
      paused: view.yieldsPrecedence,
      ...steeringOf(view),
    });
    this.#registration = new Registration(context.zk, component, context.logger);
    if (isLegacy) this.#legacy = new Registration(context.zk, component, context.logger, launcherId);
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
  return { health: state === 'healthy' ? null : 'open', firstPoolPauseMs: FIRST_POOL_PAUSE_MS };
}
