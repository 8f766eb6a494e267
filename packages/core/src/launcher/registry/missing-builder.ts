import { steadyNow, type ComponentCache } from '@nodepool/zk-protocol';
import type { FoundCondition } from '../../contract/condition.js';
import { noBuilderCondition } from '../../conditions/shared-conditions.js';
import { awaitsBuild } from '../../images/newest-builds.js';
import type { Context } from '../state/context.js';
import type { ImageMirror } from '../state/image-mirror.js';
import type { Part } from '../state/part.js';

/** A builder that restarts, or whose machine does, registers again in this time. */
const PATIENCE_MS = 300_000;

/** Follows whether a builder is registered. One of the original counts in any state, as it registers as `stopped` and stays so. */
export class MissingBuilder implements Part {
  readonly #context: Pick<Context, 'clock' | 'config'>;
  readonly #components: ComponentCache;
  readonly #images: Pick<ImageMirror, 'ready' | 'images'>;
  /** Steady and wall-clock time of the first look that found none. */
  #missing: { readonly atMs: number; readonly sinceMs: number } | undefined;

  constructor(
    context: Pick<Context, 'clock' | 'config'>,
    components: ComponentCache,
    images: Pick<ImageMirror, 'ready' | 'images'>,
  ) {
    this.#context = context;
    this.#components = components;
    this.#images = images;
  }

  /** Looks for builders; finds nothing at sites without images to build, and in the first minutes if no build is due. */
  conditions(): FoundCondition[] {
    const { clock, config } = this.#context;
    const nowMs = steadyNow(clock);
    const images = [...config.now.diskimages.values()].filter(({ abstract, pause }) => !abstract && !pause);
    const isHere = [...this.#components.values()].some(({ kind }) => kind === 'builder');
    if (images.length === 0 || isHere) this.#missing = undefined;
    else if (this.#components.ready) this.#missing ??= { atMs: nowMs, sinceMs: clock.now() };
    if (!this.#missing) return [];
    const { ready, images: entries } = this.#images;
    const isDue = ready && images.some(({ name }) => awaitsBuild(entries.get(name)));
    if (!isDue && nowMs - this.#missing.atMs < PATIENCE_MS) return [];
    return [noBuilderCondition(this.#missing.sinceMs)];
  }
}
