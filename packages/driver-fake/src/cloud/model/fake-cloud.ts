import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { EventFeed } from './event-feed.js';
import { chooseFlavor } from './flavors.js';
import { ImageStore } from './image-store.js';
import { InstanceTable } from './instance-table.js';
import { Knobs } from './knobs.js';
import type { CloudUsage } from './ledger.js';
import type { FakeCloudOptions } from './options.js';
import { withSetting, type CloudSettings, type Failure } from './settings.js';
import { Power } from './power.js';
import type { CloudRecords } from './records.js';
import { CloudFailure } from './types.js';
import type { CloudInstance, Flavor, InstanceEvent, InstanceOrder, UploadedImage } from './types.js';

/**
 * A cloud in memory, without I/O and with an injected clock: the same code runs in a server process for launchers and in
 * simulations on a virtual clock. All instances share one timer.
 */
export class FakeCloud {
  readonly power: Power;
  readonly #records: CloudRecords;
  readonly #knobs: Knobs;
  readonly #feed: EventFeed;
  readonly #instances: InstanceTable;
  /** Number of images whose data were received, counting parts as fractions. */
  receivedImages = 0;
  readonly #images = new ImageStore();
  readonly #owners = new Map<string, string>();
  /** Prefix of every id, random for each process, so that ids are unique across clouds and restarts. */
  readonly #idPrefix: string;
  #nextId = 1;

  /** @throws {TypeError} the settings are wrong */
  constructor(options: FakeCloudOptions) {
    const { clock, endpoints, random, settings = {}, records = new Map() } = options;
    this.#records = records;
    this.#idPrefix = Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0');
    this.#knobs = new Knobs(settings, random);
    // While the API is down completely, no change is reported.
    this.#feed = new EventFeed(() => this.settings.failures['api-down'] === 1);
    const parts = { clock, records, endpoints, knobs: this.#knobs, feed: this.#feed };
    this.#instances = new InstanceTable({ ...parts, newId: () => this.#newId('i') });
    this.power = new Power(this.#instances, this.#knobs);
    this.#restore();
  }

  /** Current settings. */
  get settings(): CloudSettings {
    return this.#knobs.settings;
  }

  /** Current settings as in YAML. */
  get settingsJson(): JsonObject {
    return this.#knobs.json;
  }

  /** Resources in use. */
  get usage(): Readonly<CloudUsage> {
    return this.#instances.ledger.usage;
  }

  /**
   * Applies the settings of a configuration, unless the same owner configured the same before: manual changes since then
   * stay. With several owners, the last changed configuration wins.
   * @returns whether the settings were applied
   * @throws {TypeError} the settings are wrong
   */
  configure(owner: string, settings: JsonObject): boolean {
    const text = JSON.stringify(settings);
    if (this.#owners.get(owner) === text) return false;
    this.#knobs.use(settings);
    this.#owners.set(owner, text);
    this.#settingsChanged();
    return true;
  }

  /**
   * Changes one setting, e.g. `set('failures.quota', 0.1)`; `null` restores its default.
   * @throws {TypeError} there is no such setting, or the value is wrong
   */
  set(path: string, value: Json): void {
    this.#knobs.use(withSetting(this.#knobs.json, path, value));
    this.#settingsChanged();
  }

  /** The flavor for an order; `undefined` if the cloud has none. */
  flavorFor(order: Pick<InstanceOrder, 'flavor' | 'minRam'>): Flavor | undefined {
    return chooseFlavor(order, this.settings.flavors);
  }

  /** Whether an image of this id or name exists. */
  hasImage(image: string): boolean {
    const { images } = this.settings;
    return images === undefined || images.includes(image) || this.#images.isUsable(image);
  }

  /** Uploaded images. */
  images(): UploadedImage[] {
    return this.#images.all();
  }

  /** Creates an image without data. */
  upload(name: string, metadata: Readonly<Record<string, string>>): UploadedImage {
    return this.#keepImage({ id: this.#newId('image'), name, metadata, partial: true });
  }

  /**
   * Receives data of an image. The image is usable after the last part.
   * @param share - size of the part, as a fraction of the image
   * @throws {CloudFailure} the image does not exist
   */
  receiveImage(id: string, share: number, isLast: boolean): void {
    this.receivedImages += share;
    const image = this.#images.get(id);
    if (!image) throw new CloudFailure('invalid', `image ${id} does not exist`);
    if (isLast) this.#keepImage({ id, name: image.name, metadata: image.metadata });
  }

  #keepImage(image: UploadedImage): UploadedImage {
    this.#images.add(image);
    this.#records.set(image.id, { image });
    return image;
  }

  /**
   * Adds tags to an instance or an image.
   * @throws {CloudFailure} `not-found`
   */
  tag(id: string, tags: Readonly<Record<string, string>>): void {
    const image = this.#images.get(id);
    if (image) this.#keepImage({ ...image, metadata: { ...image.metadata, ...tags } });
    else if (!this.#instances.tag(id, tags)) throw new CloudFailure('not-found', `${id} does not exist`);
  }

  /** Removes an image; does nothing if it does not exist. */
  removeImage(id: string): void {
    if (this.#images.remove(id)) this.#records.delete(id);
  }

  /**
   * Starts creating an instance. Without a create time it is active in the answer.
   * @throws {CloudFailure} quota, capacity, or an invalid order
   */
  create(order: InstanceOrder): CloudInstance {
    const flavor = this.flavorFor(order);
    if (!flavor) throw new CloudFailure('invalid', `flavor ${describe(order)} does not exist in this cloud`);
    if (!this.hasImage(order.image)) throw new CloudFailure('invalid', `image "${order.image}" does not exist`);
    const { zones, quota } = this.settings;
    if (order.az !== null && zones.length > 0 && !zones.includes(order.az)) {
      throw new CloudFailure(
        'invalid',
        `availability zone "${order.az}" does not exist: there are ${zones.join(', ')}`,
      );
    }
    this.#instances.ledger.check(flavor, quota);
    if (this.happens('quota')) throw new CloudFailure('quota', 'quota exceeded for instances');
    if (this.happens('capacity')) throw new CloudFailure('capacity', 'no valid host was found: no capacity left');
    const made = this.#instances.make(order, flavor);
    if (this.happens('duplicate')) this.#instances.make(order, flavor);
    return made;
  }

  /**
   * Starts deleting an instance.
   * @returns whether it is gone already; otherwise an event follows
   * @throws {CloudFailure} `not-found`: the cloud lists no such instance
   */
  remove(id: string): boolean {
    const live = this.#instances.visible(id);
    if (!live) throw new CloudFailure('not-found', `instance ${id} does not exist`);
    if (live.record.instance.status === 'deleting') return false;
    if (this.happens('delete-error')) throw new CloudFailure('failed', `instance ${id} could not be deleted`);
    const stuck = this.happens('delete-stuck');
    const afterMs = this.#knobs.timeMs('delete-time');
    if (!stuck && afterMs === 0) {
      this.#instances.endLife(live);
      return true;
    }
    this.#instances.update(live, { instance: { ...live.record.instance, status: 'deleting' } });
    this.#instances.schedule(live, stuck ? undefined : 'remove', afterMs);
    return false;
  }

  /** One listed instance. */
  get(id: string): CloudInstance | undefined {
    return this.#instances.visible(id)?.record.instance;
  }

  /** All listed instances. */
  list(): Generator<CloudInstance> {
    return this.#instances.list();
  }

  /** Removes an instance at once, as a host crash does, even a hidden one. @returns whether it existed */
  kill(id: string): boolean {
    const live = this.#instances.find(id);
    if (live) this.#instances.erase(live);
    return live !== undefined;
  }

  /** Sets the status of an instance to `error`. @returns whether it existed */
  breakDown(id: string, fault = 'broken by hand'): boolean {
    const live = this.#instances.visible(id);
    if (live) this.#instances.breakDown(live, fault);
    return live !== undefined;
  }

  /** Hides an instance from lists for a time; it keeps running. @returns whether it existed */
  hide(id: string, forMs = this.#knobs.timeMs('hide-time')): boolean {
    const live = this.#instances.visible(id);
    if (live) this.#instances.hide(live, forMs);
    return live !== undefined;
  }

  /** Adds an instance without a launcher: with tags of a provider it is a leak, without tags it is foreign. */
  leak(order: Partial<InstanceOrder> = {}): CloudInstance {
    const full = { name: 'leaked', image: 'unknown', az: null, metadata: {}, ...order };
    const flavor = this.flavorFor(full.flavor === undefined ? { minRam: full.minRam ?? 1 } : full);
    const live = this.#instances.insert(full, flavor ?? { name: 'unknown', ram: 0, cores: 0 }, 'active');
    return live.record.instance;
  }

  /** Subscribes to changes of listed instances. @returns unsubscribe */
  onChange(listener: (event: InstanceEvent) => void): () => void {
    return this.#feed.listen(listener);
  }

  /** Whether this failure strikes now, with its configured probability. */
  happens(failure: Failure): boolean {
    return this.#knobs.happens(failure);
  }

  /** Samples one of the delays of calls. */
  timeMs(name: 'api-time' | 'answer-time' | 'upload-time'): number {
    return this.#knobs.timeMs(name);
  }

  /** Cancels all planned transitions. */
  stop(): void {
    this.#instances.stop();
  }

  #settingsChanged(): void {
    this.#records.set('settings', { settings: this.#knobs.json, owners: [...this.#owners] });
    this.#feed.flush();
  }

  /** Restores the records of an earlier process: settings first, because instances need them. */
  #restore(): void {
    const kept = [...this.#records.values()];
    for (const record of kept) {
      if (!('settings' in record)) continue;
      this.#knobs.use(record.settings);
      for (const [owner, text] of record.owners) this.#owners.set(owner, text);
    }
    for (const record of kept) {
      if ('image' in record) this.#images.add(record.image);
      else if ('instance' in record) this.#instances.restore(record);
    }
  }

  #newId(kind: string): string {
    return `${kind}-${this.#idPrefix}-${String(this.#nextId++).padStart(8, '0')}`;
  }
}

function describe({ flavor, minRam }: Pick<InstanceOrder, 'flavor' | 'minRam'>): string {
  return [flavor === undefined ? '' : `"${flavor}"`, minRam ? `with ${minRam} MiB` : ''].filter(Boolean).join(' ');
}
