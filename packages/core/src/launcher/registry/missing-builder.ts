import { steadyNow, type ComponentCache } from '@nodepool/zk-protocol';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import type { Context } from '../state/context.js';
import type { Part } from '../state/part.js';

/** Conditions of builders, as launchers see them. */
export const CONDITIONS = {
  NoBuilder: {
    ...{ kind: 'builder', severity: 'warning' },
    meaning:
      'images are configured in a launcher, and it has seen no builder registered for five minutes; present images stay in service',
    reasons: { NotRegistered: 'no builder runs, or all use another ZooKeeper or chroot' },
    nextStep: 'start nodepool-builder',
  },
} as const satisfies ConditionTypes;

/** A builder that restarts, or whose machine does, registers again in this time. */
const PATIENCE_MS = 300_000;

/** Follows whether a builder is registered. One of the original counts in any state, as it registers as `stopped` and stays so. */
export class MissingBuilder implements Part {
  readonly #context: Pick<Context, 'clock' | 'config'>;
  readonly #components: ComponentCache;
  /** Steady and wall-clock time of the first look that found none. */
  #missing: { readonly atMs: number; readonly sinceMs: number } | undefined;

  constructor(context: Pick<Context, 'clock' | 'config'>, components: ComponentCache) {
    this.#context = context;
    this.#components = components;
  }

  /** Looks for builders; finds nothing at sites without images to build, and in the first minutes without a builder. */
  conditions(): FoundCondition[] {
    const { clock, config } = this.#context;
    const nowMs = steadyNow(clock);
    const hasImages = [...config.now.diskimages.values()].some(({ abstract, pause }) => !abstract && !pause);
    const isHere = [...this.#components.values()].some(({ kind }) => kind === 'builder');
    if (!hasImages || isHere) this.#missing = undefined;
    else if (this.#components.ready) this.#missing ??= { atMs: nowMs, sinceMs: clock.now() };
    if (!this.#missing || nowMs - this.#missing.atMs < PATIENCE_MS) return [];
    return [
      newCondition(CONDITIONS, 'NoBuilder', {
        ...{ name: 'any', reason: 'NotRegistered', sinceMs: this.#missing.sinceMs },
        message: 'no builder is registered: images are not built, uploaded or deleted',
        nextStep:
          'start nodepool-builder; if one runs, compare its zookeeper-servers (and chroot) with those of the launcher',
      }),
    ];
  }
}
