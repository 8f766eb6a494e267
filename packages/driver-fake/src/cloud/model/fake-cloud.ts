import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { sample } from './distribution.js';
import { Ledger, type CloudUsage } from './ledger.js';
import type { FakeCloudOptions } from './options.js';
import { chooseFlavor } from './flavors.js';
import { readSettings, withSetting, type CloudSettings, type Failure, type TimeName } from './settings.js';
import { TimerHeap } from './timer-heap.js';
import { CloudFailure } from './types.js';
import type { CloudInstance, Flavor, InstanceEvent, InstanceOrder, InstanceRecord } from './types.js';
import type { Transition, UploadedImage } from './types.js';
import { emptyState, type CloudState } from './state.js';

/** An address that is never routed (RFC 5737), for instances whose network does not work. */
const UNREACHABLE = '192.0.2.1';

interface Live {
  record: InstanceRecord;
  /** Number of the transition it waits for; one left in the heap with another number is void. */
  due: number;
}

interface Due {
  readonly live: Live;
  readonly due: number;
}

/**
 * A cloud in memory. It has no I/O and no time of its own, so the same code serves launchers through a server of its own
 * process and simulations on a virtual clock. Ten thousand instances cost one timer.
 */
export class FakeCloud {
  readonly #options: FakeCloudOptions;
  readonly #instances = new Map<string, Live>();
  readonly #images = new Map<string, UploadedImage>();
  readonly #owners = new Map<string, string>();
  readonly #listeners = new Set<(event: InstanceEvent) => void>();
  readonly #unheard = new Map<string, InstanceEvent>();
  readonly #heap: TimerHeap<Due>;
  readonly #ledger = new Ledger();
  readonly #idPrefix: string;
  #nextId: number;
  #due = 0;
  #json: JsonObject;
  #settings: CloudSettings;
  #nextZone = 0;

  /** @throws {TypeError} the settings are wrong */
  constructor(options: FakeCloudOptions) {
    this.#options = options;
    this.#heap = new TimerHeap(options.clock, ({ live, due }) => {
      if (live.due === due) this.#advance(live);
    });
    const state = options.state ?? emptyState(options.random);
    this.#idPrefix = state.idPrefix;
    this.#nextId = state.nextId;
    this.#json = options.settings ?? state.settings;
    this.#settings = readSettings(this.#json);
    for (const [owner, text] of state.owners) this.#owners.set(owner, text);
    for (const image of state.images.values()) this.#images.set(image.id, image);
    for (const record of state.instances.values()) this.#restore(record);
  }

  /** The knobs in force. */
  get settings(): CloudSettings {
    return this.#settings;
  }

  /** The knobs as they are written in YAML. */
  get settingsJson(): JsonObject {
    return this.#json;
  }

  /** What is in use. */
  get usage(): Readonly<CloudUsage> {
    return this.#ledger.usage;
  }

  /** Everything that must survive, to be written anew. */
  get state(): CloudState {
    return {
      idPrefix: this.#idPrefix,
      nextId: this.#nextId,
      settings: this.#json,
      owners: new Map(this.#owners),
      images: new Map(this.#images),
      instances: new Map([...this.#instances].map(([id, live]) => [id, live.record])),
    };
  }

  /**
   * Takes over the settings of a configuration, unless the same owner has configured just these before: then what was
   * changed by hand since stays. Settings of the last owner to change its own win.
   * @returns whether they were taken over
   * @throws {TypeError} the settings are wrong
   */
  configure(owner: string, settings: JsonObject): boolean {
    const text = JSON.stringify(settings);
    if (this.#owners.get(owner) === text) return false;
    this.#use(settings);
    this.#owners.set(owner, text);
    this.#options.save?.({ kind: 'owner', owner, text });
    return true;
  }

  /**
   * Turns one knob, e.g. `set('failures.quota', 0.1)`; `null` puts it back to its default.
   * @throws {TypeError} there is no such knob, or the value is wrong
   */
  set(path: string, value: Json): void {
    this.#use(withSetting(this.#json, path, value));
  }

  /** The flavor an order would get; `undefined` when the cloud has none. */
  flavorFor(order: Pick<InstanceOrder, 'flavor' | 'minRam'>): Flavor | undefined {
    return chooseFlavor(order, this.#settings.flavors);
  }

  /** Whether an image of this id or name exists. */
  hasImage(image: string): boolean {
    const { images } = this.#settings;
    if (images === undefined || images.includes(image)) return true;
    return this.images().some(({ id, name, partial }) => partial !== true && (name === image || id === image));
  }

  /** Uploaded images. */
  images(): UploadedImage[] {
    return [...this.#images.values()];
  }

  /** Makes an image that has no data yet. */
  upload(name: string, metadata: Readonly<Record<string, string>>): UploadedImage {
    return this.#keepImage({ id: this.#newId('image'), name, metadata, partial: true });
  }

  /**
   * Takes data of an image; after the last of them it can be used.
   * @throws {CloudFailure} there is no such image
   */
  receiveImage(id: string, isLast: boolean): void {
    const image = this.#images.get(id);
    if (!image) throw new CloudFailure('invalid', `image ${id} does not exist`);
    if (isLast) this.#keepImage({ id, name: image.name, metadata: image.metadata });
  }

  #keepImage(image: UploadedImage): UploadedImage {
    this.#images.set(image.id, image);
    this.#options.save?.({ kind: 'image', image });
    return image;
  }

  /** Forgets an image; fine when there is none. */
  removeImage(id: string): void {
    if (this.#images.delete(id)) this.#options.save?.({ kind: 'image-gone', id });
  }

  /**
   * Begins to make an instance. Without a create time it is active in the answer already.
   * @throws {CloudFailure} quota, capacity, or an order the cloud does not understand
   */
  create(order: InstanceOrder): CloudInstance {
    const flavor = this.flavorFor(order);
    if (!flavor) throw new CloudFailure('invalid', `flavor ${describe(order)} does not exist in this cloud`);
    if (!this.hasImage(order.image)) throw new CloudFailure('invalid', `image "${order.image}" does not exist`);
    const { zones } = this.#settings;
    if (order.az !== null && zones.length > 0 && !zones.includes(order.az)) {
      throw new CloudFailure(
        'invalid',
        `availability zone "${order.az}" does not exist: there are ${zones.join(', ')}`,
      );
    }
    this.#ledger.check(flavor, this.#settings.quota);
    if (this.#happens('quota')) throw new CloudFailure('quota', 'quota exceeded for instances');
    if (this.#happens('capacity')) throw new CloudFailure('capacity', 'no valid host was found: no capacity left');
    const made = this.#make(order, flavor);
    if (this.#happens('duplicate')) this.#make(order, flavor);
    return this.#instances.get(made)?.record.instance ?? never(made);
  }

  /**
   * Begins to delete an instance.
   * @returns whether it is gone already; otherwise an event tells
   * @throws {CloudFailure} `not-found`: the cloud does not show such an instance
   */
  remove(id: string): boolean {
    const live = this.#visible(id);
    if (!live) throw new CloudFailure('not-found', `instance ${id} does not exist`);
    if (live.record.instance.status === 'deleting') return false;
    if (this.#happens('delete-error')) throw new CloudFailure('failed', `instance ${id} could not be deleted`);
    const stuck = this.#happens('delete-stuck');
    const afterMs = this.#time('delete-time');
    if (!stuck && afterMs === 0) {
      this.#endLife(live);
      return true;
    }
    this.#update(live, { instance: { ...live.record.instance, status: 'deleting' } });
    this.#schedule(live, stuck ? undefined : 'remove', afterMs);
    return false;
  }

  /** One instance, as everybody sees it. */
  get(id: string): CloudInstance | undefined {
    return this.#visible(id)?.record.instance;
  }

  /** All instances that are shown. */
  *list(): Generator<CloudInstance> {
    for (const { record } of this.#instances.values()) if (!record.hidden) yield record.instance;
  }

  /** Makes an instance disappear at once, as a crashed host does. Hidden ones go as well. False: there is none. */
  kill(id: string): boolean {
    const live = this.#instances.get(id);
    if (live) this.#erase(live);
    return live !== undefined;
  }

  /** Breaks an instance: its status becomes `error`. False: there is none. */
  breakDown(id: string, fault = 'broken by hand'): boolean {
    const live = this.#visible(id);
    if (!live) return false;
    this.#schedule(live, undefined);
    this.#update(live, { instance: { ...live.record.instance, status: 'error', fault } });
    return true;
  }

  /** Shows an instance to nobody for so many milliseconds, although it goes on. False: there is none. */
  hide(id: string, forMs = this.#time('hide-time')): boolean {
    const live = this.#visible(id);
    if (!live) return false;
    this.#schedule(live, 'show', forMs);
    this.#update(live, { hidden: true });
    return true;
  }

  /** Adds an instance nobody asked for: with tags of a provider it is a leak, without any it is somebody else's. */
  leak(order: Partial<InstanceOrder> = {}): CloudInstance {
    const full = { name: 'leaked', image: 'unknown', az: null, metadata: {}, ...order };
    const flavor = this.flavorFor(full.flavor === undefined ? { minRam: full.minRam ?? 1 } : full);
    const id = this.#insert(full, flavor ?? { name: 'unknown', ram: 0, cores: 0 }, 'active');
    return this.#instances.get(id)?.record.instance ?? never(id);
  }

  /** Tells about changes of shown instances as they happen. Returns how to end it. */
  onChange(listener: (event: InstanceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** True with the probability of this failure. */
  happens(failure: Failure): boolean {
    return this.#happens(failure);
  }

  /** Draws one of the times that calls take. */
  timeMs(name: 'api-time' | 'answer-time' | 'upload-time'): number {
    return this.#time(name);
  }

  /** Stops time. */
  stop(): void {
    this.#heap.clear();
  }

  #use(json: JsonObject): void {
    this.#settings = readSettings(json);
    this.#json = json;
    this.#options.save?.({ kind: 'settings', settings: json });
    const unheard = [...this.#unheard.values()];
    this.#unheard.clear();
    for (const event of unheard) this.#emit(event);
  }

  /** An instance on the way to `active`, or not, as the dice will. */
  #make(order: InstanceOrder, flavor: Flavor): string {
    const fate = this.#happens('never-active') ? undefined : this.#happens('error-state') ? 'break' : 'activate';
    const afterMs = this.#time('create-time');
    const instant = afterMs === 0 && !this.#settings.ssh.enabled;
    if (instant && fate === 'activate') return this.#insert(order, flavor, 'active');
    const id = this.#insert(order, flavor, 'building');
    const live = this.#instances.get(id);
    if (live) this.#schedule(live, fate, afterMs);
    return id;
  }

  #insert(order: InstanceOrder, flavor: Flavor, status: 'building' | 'active'): string {
    const { zones } = this.#settings;
    const instance: CloudInstance = {
      id: this.#newId('i'),
      name: order.name,
      status,
      metadata: { ...order.metadata },
      flavor: flavor.name,
      cores: flavor.cores,
      ram: flavor.ram,
      image: order.image,
      az: order.az ?? (zones.length > 0 ? (zones[this.#nextZone++ % zones.length] ?? null) : null),
      address: status === 'active' ? `${order.name}.fake` : null,
      createdMs: this.#options.clock.now(),
    };
    const live: Live = { record: { instance }, due: 0 };
    this.#instances.set(instance.id, live);
    this.#ledger.count(instance, 1);
    if (status === 'active') this.#planAccident(live);
    this.#publish(live);
    return instance.id;
  }

  #restore(record: InstanceRecord): void {
    const live: Live = { record, due: 0 };
    this.#instances.set(record.instance.id, live);
    if (!record.gone) this.#ledger.count(record.instance, 1);
    if (record.next) this.#heap.add(record.next.atMs, { live, due: (live.due = ++this.#due) });
    if (record.instance.port !== undefined) this.#listen(live);
  }

  /** Does what was planned for this moment. */
  #advance(live: Live): void {
    const transition = live.record.next?.transition;
    const { instance } = live.record;
    live.record = { ...live.record, next: undefined };
    switch (transition) {
      case 'activate':
        if (!this.#settings.ssh.enabled) this.#activate(live, { address: `${instance.name}.fake` });
        else if (this.#happens('no-ssh')) this.#activate(live, { address: UNREACHABLE });
        else this.#listen(live);
        return;
      case 'break':
        return void this.breakDown(instance.id, 'the host of the instance failed');
      case 'vanish':
        return this.#erase(live);
      case 'remove':
        return this.#endLife(live);
      case 'hide':
        return void this.hide(instance.id);
      case 'return':
        this.#ledger.count(instance, 1);
        return this.#update(live, { hidden: false, gone: false });
      case 'show':
        return this.#update(live, { hidden: false });
      case undefined:
        return;
    }
  }

  /** Starts the SSH server of an instance, which makes a new one active. */
  #listen(live: Live): void {
    const { instance } = live.record;
    const { endpoints } = this.#options;
    if (!endpoints) return this.#activate(live, { address: `${instance.name}.fake` });
    endpoints.open(instance, this.#settings.ssh).then(
      (place) => {
        if (this.#instances.get(instance.id) !== live) endpoints.close(instance.id, true);
        else if (live.record.instance.status === 'building') this.#activate(live, place);
      },
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        this.breakDown(instance.id, `its SSH server cannot be started: ${reason}`);
      },
    );
  }

  #activate(live: Live, place: Pick<CloudInstance, 'address' | 'port' | 'hostKeys'>): void {
    live.record = { ...live.record, instance: { ...live.record.instance, ...place, status: 'active' } };
    this.#planAccident(live);
    this.#publish(live);
  }

  /** What will happen to an active instance of its own accord. */
  #planAccident(live: Live): void {
    const accident = this.#happens('vanish') ? 'vanish' : this.#happens('hide') ? 'hide' : undefined;
    if (accident) this.#plan(live, accident, this.#time('vanish-time'));
  }

  /** A deletion comes to its end; perhaps not for good. */
  #endLife(live: Live): void {
    if (!this.#happens('resurrect')) return this.#erase(live);
    this.#ledger.count(live.record.instance, -1);
    const instance: CloudInstance = { ...live.record.instance, status: 'active' };
    live.record = { instance, hidden: true, gone: true };
    this.#plan(live, 'return', this.#time('hide-time'));
    this.#publish(live);
  }

  #erase(live: Live): void {
    const { instance, gone } = live.record;
    live.due = ++this.#due;
    this.#instances.delete(instance.id);
    if (!gone) this.#ledger.count(instance, -1);
    if (instance.port !== undefined) this.#options.endpoints?.close(instance.id, true);
    this.#options.save?.({ kind: 'gone', id: instance.id });
    if (!live.record.hidden) this.#emit({ id: instance.id, instance: null });
  }

  #schedule(live: Live, transition: Transition | undefined, afterMs = 0): void {
    if (transition) this.#plan(live, transition, afterMs);
    else {
      live.due = ++this.#due;
      live.record = { ...live.record, next: undefined };
    }
    this.#options.save?.({ kind: 'instance', record: live.record });
  }

  #plan(live: Live, transition: Transition, afterMs: number): void {
    const atMs = this.#options.clock.now() + afterMs;
    live.record = { ...live.record, next: { transition, atMs } };
    live.due = ++this.#due;
    this.#heap.add(atMs, { live, due: live.due });
  }

  #update(live: Live, changes: Partial<InstanceRecord>): void {
    live.record = { ...live.record, ...changes };
    this.#publish(live);
  }

  #publish(live: Live): void {
    const { instance, hidden } = live.record;
    this.#options.save?.({ kind: 'instance', record: live.record });
    this.#emit({ id: instance.id, instance: hidden ? null : instance });
  }

  /** While the API is down for good, nobody hears anything. */
  #emit(event: InstanceEvent): void {
    if (this.#settings.failures['api-down'] === 1) {
      this.#unheard.set(event.id, event);
      return;
    }
    for (const listener of this.#listeners) listener(event);
  }

  #visible(id: string): Live | undefined {
    const live = this.#instances.get(id);
    return live?.record.hidden ? undefined : live;
  }

  #happens(failure: Failure): boolean {
    const rate = this.#settings.failures[failure];
    return rate > 0 && this.#options.random() < rate;
  }

  #time(name: TimeName): number {
    return sample(this.#settings.times[name], this.#options.random);
  }

  #newId(kind: string): string {
    return `${kind}-${this.#idPrefix}-${String(this.#nextId++).padStart(8, '0')}`;
  }
}

function describe({ flavor, minRam }: Pick<InstanceOrder, 'flavor' | 'minRam'>): string {
  return [flavor === undefined ? '' : `"${flavor}"`, minRam ? `with ${minRam} MiB` : ''].filter(Boolean).join(' ');
}

function never(id: string): never {
  throw new Error(`instance ${id} was made but is not there`);
}
