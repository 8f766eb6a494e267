import {
  buildPath,
  encodeBuild,
  encodeUpload,
  imageBuildRequestPath,
  imagePath,
  imagePausePath,
  newBuild,
  newUpload,
  uploadPath,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Random } from '@nodepool/core/testing';
import { Violation } from '../world/violation.js';
import { SimulatedProcess } from '../world/process.js';
import type { World } from '../world/world.js';

const IMAGES = ['debian', 'fedora'];
const PROVIDER = 'account1';

/** Writes image records as builders do. No label uses them: launchers only mirror them. */
export class ImageWriter {
  readonly #world: World;
  readonly #random: Random;
  readonly #process: SimulatedProcess;
  /** Records that exist, by path. */
  readonly #written = new Set<string>();
  #builds = 0;
  #writing = Promise.resolve();

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#process = new SimulatedProcess(world, 'builder', world.server);
  }

  /** Writes or deletes a record, after earlier writes have ended. */
  writeAny(): void {
    const { zk } = this.#process;
    this.#writing = this.#writing.then(() => this.#write(zk)).catch((error: unknown) => this.#failed(zk, error));
  }

  /** A builder gives up what it was about. */
  async #failed(zk: ZooKeeper, error: unknown): Promise<void> {
    if (!this.#world.goesOnAfter(error))
      return this.#world.violate(new Violation(`an image could not be written: ${String(error)}`));
    this.#world.trace.add('builder', () => `gives up: ${String(error)}`);
    await zk.whenConnected();
    // records without a body stay behind, which caches ignore
    for (const image of IMAGES)
      await this.#delete(zk, imagePath(image)).catch((again: unknown) => this.#failed(zk, again));
  }

  async #write(zk: ZooKeeper): Promise<void> {
    const random = this.#random;
    const image = random.pick(IMAGES);
    const roll = random.int(0, 9);
    if (roll < 4) await this.#build(zk, image);
    else if (roll < 6) await this.#toggle(zk, image, random.pick([imagePausePath, imageBuildRequestPath])(image));
    else if (roll < 9) await this.#delete(zk, random.pick([...this.#written, imagePath(image)]));
    else await this.#delete(zk, imagePath(image));
  }

  async #build(zk: ZooKeeper, image: string): Promise<void> {
    const id = String(++this.#builds).padStart(10, '0');
    const path = buildPath(image, id);
    const nowMs = this.#world.clock.now();
    await zk.ensurePath(path);
    await zk.setData(path, encodeBuild(newBuild({ image, id }, { state: 'building' }, nowMs)));
    this.#written.add(path);
    await zk.setData(path, encodeBuild(newBuild({ image, id }, { state: 'ready' }, nowMs)));
    for (const uploadId of ['0000000001', '0000000002']) {
      const upload = { image, buildId: id, provider: PROVIDER, id: uploadId };
      const place = uploadPath(image, id, PROVIDER, uploadId);
      await zk.ensurePath(place);
      await zk.setData(place, encodeUpload(newUpload(upload, { state: 'uploading' }, nowMs)));
      this.#written.add(place);
      await zk.setData(place, encodeUpload(newUpload(upload, { state: 'ready' }, nowMs)));
    }
  }

  async #toggle(zk: ZooKeeper, image: string, path: string): Promise<void> {
    if (this.#written.has(path)) return this.#delete(zk, path);
    await zk.ensurePath(imagePath(image));
    await zk.create(path, '');
    this.#written.add(path);
  }

  /** Deletes a path recursively. */
  async #delete(zk: ZooKeeper, path: string): Promise<void> {
    for (const each of this.#written) if (each === path || each.startsWith(`${path}/`)) this.#written.delete(each);
    await zk.deleteRecursive(path);
  }
}
