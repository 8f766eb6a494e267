import { ConfigError, isNodepoolError, NotFoundError, type Clock } from '@nodepool/core';
import { steadyNow } from '@nodepool/zk-protocol';
import type { ComputeClient } from './client.js';
import type { GceImageConfig } from './config.js';

/** How large a machine type is. */
export interface MachineSize {
  readonly cores: number;
  readonly ramMib: number;
}

/** A newer image of a family is used after this at the latest. */
const IMAGE_LIFE_MS = 300_000;
/** Machine types do not change; new ones come to zones now and then. */
const SIZE_LIFE_MS = 86_400_000;
const MISSING_LIFE_MS = 3_600_000;

/** What the cloud has to offer: machine types of zones, images of families. */
export class Catalog {
  readonly #client: ComputeClient;
  readonly #signal: AbortSignal;
  readonly #sizes: Remembered<MachineSize | undefined>;
  readonly #images: Remembered<string>;

  /** @param signal - aborts at the end of the provider: launches share answers, so none of them may abort a call */
  constructor(client: ComputeClient, clock: Clock, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    this.#sizes = new Remembered(clock, (size) => (size ? SIZE_LIFE_MS : MISSING_LIFE_MS));
    this.#images = new Remembered(clock, () => IMAGE_LIFE_MS);
  }

  /** Size of a machine type; `undefined`: the zone does not have it. */
  sizeOf(zone: string, machineType: string): Promise<MachineSize | undefined> {
    return this.#sizes.get(`${zone}/${machineType}`, async () => {
      try {
        const { guestCpus, memoryMb } = await this.#client.getMachineType(zone, machineType, this.#signal);
        return { cores: guestCpus, ramMib: memoryMb };
      } catch (error) {
        if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return undefined;
        throw error;
      }
    });
  }

  /** Path or URL of the boot image. @throws {NotFoundError} no such image, or none is configured */
  async imageOf({ name, imageId, imageProject, imageFamily }: GceImageConfig): Promise<string> {
    if (imageId !== undefined) return imageId;
    if (imageProject === '' || imageFamily === '') throw new NotFoundError(`cloud image "${name}" names no image`);
    const ask = () => this.#client.getImageOfFamily(imageProject, imageFamily, this.#signal);
    return this.#images.get(`${imageProject}/${imageFamily}`, ask);
  }

  /** Verifies that the image of a label exists. @throws {ConfigError} it does not */
  async requireImage(image: GceImageConfig, label: string): Promise<void> {
    try {
      await this.imageOf(image);
    } catch (error) {
      if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
      const { name, imageProject, imageFamily } = image;
      const named = `family "${imageFamily}" of project "${imageProject}"`;
      throw new ConfigError(`label "${label}": cloud image "${name}": there is no image in ${named}`, [], {
        cause: error,
        reason: 'ImageMissing',
        nextStep: 'correct "image-project" and "image-family" of the cloud image, or create an image in this family',
      });
    }
  }

  /** Drops cached answers after an insert failed because something no longer exists. */
  forget(): void {
    this.#sizes.clear();
    this.#images.clear();
  }
}

/** Cache of answers with a lifetime. Concurrent callers share one call. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #lifeMs: (value: T) => number;
  readonly #answers = new Map<string, { readonly answer: Promise<T>; untilMs: number }>();

  /** @param lifeMs - lifetime of an answer, from its arrival */
  constructor(clock: Clock, lifeMs: (value: T) => number) {
    this.#clock = clock;
    this.#lifeMs = lifeMs;
  }

  /** The cached answer, else a new one. Errors are not cached. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(key);
    if (known && known.untilMs > steadyNow(this.#clock)) return known.answer;
    const asked = { answer: ask(), untilMs: Infinity };
    this.#answers.set(key, asked);
    asked.answer.then(
      (value) => (asked.untilMs = steadyNow(this.#clock) + this.#lifeMs(value)),
      () => this.#forget(key, asked),
    );
    return asked.answer;
  }

  /** Drops all answers. */
  clear(): void {
    this.#answers.clear();
  }

  #forget(key: string, asked: object): void {
    if (this.#answers.get(key) === asked) this.#answers.delete(key);
  }
}
