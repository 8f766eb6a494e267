import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import { freeBytes, type SpaceNeed } from '../context/space.js';

const INTERVAL_MS = 5_000;

/** Measures the free space while a build runs, and remembers the least. */
export class SpaceWatch {
  #cancel: CancelTimer | undefined;
  #leastImages: number;
  #leastTmp: number;

  private constructor(
    private readonly clock: Clock,
    private readonly imagesDir: string,
    private readonly tmpDir: string,
    private readonly atStart: { readonly images: number; readonly tmp: number },
  ) {
    this.#leastImages = atStart.images;
    this.#leastTmp = atStart.tmp;
    this.#next();
  }

  static async start(clock: Clock, imagesDir: string, tmpDir: string): Promise<SpaceWatch> {
    const [images, tmp] = await Promise.all([freeBytes(imagesDir), freeBytes(tmpDir)]);
    return new SpaceWatch(clock, imagesDir, tmpDir, { images, tmp });
  }

  /** The most that was taken so far, now included. */
  async look(): Promise<SpaceNeed> {
    const [images, tmp] = await Promise.all([freeBytes(this.imagesDir), freeBytes(this.tmpDir)]);
    this.#leastImages = Math.min(this.#leastImages, images);
    this.#leastTmp = Math.min(this.#leastTmp, tmp);
    return { imagesBytes: this.atStart.images - this.#leastImages, tmpBytes: this.atStart.tmp - this.#leastTmp };
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #next(): void {
    this.#cancel = this.clock.setTimer(INTERVAL_MS, () => void this.#lookAgain());
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.look();
    } finally {
      if (this.#cancel !== undefined) this.#next();
    }
  }
}
