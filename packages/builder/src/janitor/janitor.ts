import { Backoffs } from '../context/backoffs.js';
import type { Surroundings } from '../context/surroundings.js';
import { planCleanup, type CleanupStep } from '../plan/plan-cleanup.js';
import { Cleaner } from './cleaner.js';
import { LeakedUploads } from './leaked-uploads.js';
import { cleanLocalFiles } from './local-files.js';

const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 1_800_000;

/** What the janitor asks the rest of the builder. */
export interface JanitorHost {
  /** This builder builds it now, or uploads from its files. */
  isInUse(buildId: string): boolean;
}

/** What does not wait for a cloud is done in a lane of this name. */
const HERE = '';

/**
 * Takes away what is no longer needed: in the clouds, in ZooKeeper, and this builder's own files. Each provider is worked on by
 * itself, so that a slow one holds up nobody else.
 */
export class Janitor {
  readonly #surroundings: Surroundings;
  readonly #host: JanitorHost;
  readonly #cleaner: Cleaner;
  readonly #leaks: LeakedUploads;
  readonly #backoffs: Backoffs;
  readonly #failing = new Map<string, { attempts: number; error: string }>();
  readonly #stop = new AbortController();
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #waiting = new Set<string>();
  readonly #looks = new Set<Promise<void>>();

  constructor(surroundings: Surroundings, host: JanitorHost) {
    this.#surroundings = surroundings;
    this.#host = host;
    this.#cleaner = new Cleaner(surroundings, { isInUse: (id) => host.isInUse(id), signal: this.#stop.signal });
    this.#leaks = new LeakedUploads(surroundings, this.#stop.signal);
    this.#backoffs = new Backoffs(surroundings, { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS });
  }

  /** Deletions that keep failing, and why. */
  get failing(): readonly { readonly name: string; readonly attempts: number; readonly error: string }[] {
    return [...this.#failing].map(([name, failure]) => ({ name, ...failure }));
  }

  /** Something changed: looks through everything. Where it is still at it, it looks once more afterwards. */
  clean(): void {
    this.#enter(HERE);
    for (const { name, images } of this.#surroundings.config().providers.values()) if (images) this.#enter(name);
  }

  /** Looks for images in the clouds that no record speaks of; what is seen twice is removed. Never rejects. */
  async findLeaks(): Promise<void> {
    if (this.#stop.signal.aborted || !this.#surroundings.tree.ready) return;
    const look = this.#leaks.look().finally(() => this.#looks.delete(look));
    this.#looks.add(look);
    await look;
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the builder stops'));
    await Promise.all([...this.#lanes.values(), ...this.#looks]);
  }

  #enter(lane: string): void {
    if (this.#stop.signal.aborted) return;
    this.#waiting.add(lane);
    if (this.#lanes.has(lane)) return;
    this.#lanes.set(
      lane,
      this.#work(lane).finally(() => this.#lanes.delete(lane)),
    );
  }

  async #work(lane: string): Promise<void> {
    while (this.#waiting.delete(lane) && !this.#stop.signal.aborted && this.#surroundings.tree.ready) {
      const steps = this.#plan().filter((step) => laneOf(step) === lane);
      for (const step of steps) await this.#try(step);
      if (lane === HERE) await this.#cleanFiles();
    }
  }

  #plan(): CleanupStep[] {
    const { tree, config, clock } = this.#surroundings;
    const steps = [...tree.images.values()].flatMap((entry) => planCleanup(config(), entry, clock.now()));
    const names = new Set(steps.map(nameOf));
    for (const name of this.#failing.keys()) if (!names.has(name)) this.#failing.delete(name);
    return steps;
  }

  async #cleanFiles(): Promise<void> {
    const { logger, imagesDir } = this.#surroundings;
    try {
      await cleanLocalFiles(this.#surroundings, (buildId) => this.#host.isInUse(buildId));
    } catch (error) {
      logger.error('Cannot clean the images directory', { directory: imagesDir, error });
    }
  }

  async #try(step: CleanupStep): Promise<void> {
    const name = nameOf(step);
    if (this.#stop.signal.aborted || this.#backoffs.until(name) !== undefined) return;
    try {
      await this.#cleaner.take(step);
      this.#backoffs.clear(name);
      this.#failing.delete(name);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      this.#surroundings.logger.error('Cannot take away what is no longer needed', { what: name, error });
      this.#backoffs.failed(name, message);
      this.#failing.set(name, { attempts: (this.#failing.get(name)?.attempts ?? 0) + 1, error: message });
    }
  }
}

function laneOf(step: CleanupStep): string {
  return 'upload' in step ? step.upload.provider : HERE;
}

function nameOf(step: CleanupStep): string {
  if ('build' in step) return `${step.build.image}/${step.build.id}`;
  const { image, buildId, provider, id } = step.upload;
  return `${image}/${buildId}/${provider}/${id}`;
}
