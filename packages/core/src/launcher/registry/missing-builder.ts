import { steadyNow, type ComponentCache } from '@nodepool/zk-protocol';
import { newCondition } from '../../conditions/condition-types.js';
import type { Config } from '../../contract/config.js';
import type { FoundCondition } from '../../contract/condition.js';
import type { Context } from '../state/context.js';

/** A builder that restarts, or whose machine does, registers again in this time. */
const PATIENCE_MS = 300_000;

/** Follows whether a builder is registered. One of the original counts in any state, as it registers as `stopped` and stays so. */
export class MissingBuilder {
  readonly #clock: Context['clock'];
  readonly #components: ComponentCache;
  /** Steady and wall-clock time of the first look that found none. */
  #missing: { readonly atMs: number; readonly sinceMs: number } | undefined;

  constructor({ clock }: Pick<Context, 'clock'>, components: ComponentCache) {
    this.#clock = clock;
    this.#components = components;
  }

  /** Looks for builders; finds nothing at sites without images to build, and in the first minutes without a builder. */
  conditions({ diskimages }: Pick<Config, 'diskimages'>): FoundCondition[] {
    const nowMs = steadyNow(this.#clock);
    const hasImages = [...diskimages.values()].some(({ abstract, pause }) => !abstract && !pause);
    const isHere = [...this.#components.values()].some(({ kind }) => kind === 'builder');
    if (!hasImages || isHere) this.#missing = undefined;
    else if (this.#components.ready) this.#missing ??= { atMs: nowMs, sinceMs: this.#clock.now() };
    if (!this.#missing || nowMs - this.#missing.atMs < PATIENCE_MS) return [];
    return [
      newCondition('NoBuilder', {
        ...{ name: 'any', reason: 'NotRegistered', sinceMs: this.#missing.sinceMs },
        message: 'no builder is registered: images are not built, uploaded or deleted',
        nextStep:
          'start nodepool-builder; if one runs, compare its zookeeper-servers (and chroot) with those of the launcher',
      }),
    ];
  }
}
