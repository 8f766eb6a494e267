import { imageBuildLockPath, ZkLock, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';

/**
 * The lock of an image during its build. If the session expires, acquires the lock again in the next one while the build
 * continues, so that no other builder considers the build dead.
 */
export class ImageLock {
  #lock: ZkLock;
  #wasLost = false;
  readonly #done = new AbortController();

  private constructor(
    private readonly services: { readonly zk: ZooKeeper; readonly clock: Clock; readonly logger: Logger },
    private readonly image: string,
  ) {
    this.#lock = this.#make();
  }

  /** @returns `undefined` if another builder holds it */
  static async take(services: ImageLock['services'], image: string): Promise<ImageLock | undefined> {
    const lock = new ImageLock(services, image);
    if (!(await lock.#lock.acquire({ blocking: false }))) return undefined;
    lock.#follow();
    return lock;
  }

  /** Whether it was ever lost, so that another builder may have held it. */
  get wasLost(): boolean {
    return this.#wasLost;
  }

  async release(): Promise<void> {
    this.#done.abort(new Error('the build has ended'));
    await this.#lock.release();
  }

  #make(): ZkLock {
    return new ZkLock(this.services.zk, imageBuildLockPath(this.image), { clock: this.services.clock });
  }

  #follow(): void {
    const { lost } = this.#lock;
    const onLost = () => {
      this.#wasLost = true;
      if (this.#done.signal.aborted) return;
      this.services.logger.warn('Lost the lock of the image; the build continues', { image: this.image });
      void this.#takeAgain();
    };
    lost.addEventListener('abort', onLost, { once: true });
    if (lost.aborted) onLost();
  }

  async #takeAgain(): Promise<void> {
    const { logger } = this.services;
    try {
      await this.#lock.release();
      this.#lock = this.#make();
      await this.#lock.acquire({ signal: this.#done.signal });
      logger.info('Acquired the lock of the image again', { image: this.image });
      this.#follow();
    } catch (error) {
      if (!this.#done.signal.aborted) logger.warn('Failed to acquire the lock of the image again', { error });
    }
  }
}
