import type { EventFeed } from './event-feed.js';
import type { Knobs } from './knobs.js';
import { Ledger } from './ledger.js';
import type { FakeCloudOptions } from './options.js';
import type { CloudRecords } from './records.js';
import { TimerHeap } from './timer-heap.js';
import type { CloudInstance, Flavor, InstanceOrder, InstanceRecord, InstanceStatus, Transition } from './types.js';

/** An address that is never routed (RFC 5737), for unreachable instances. */
const UNREACHABLE = '192.0.2.1';

/** Statuses of an instance whose SSH server is being started. */
const COMING: ReadonlySet<InstanceStatus> = new Set(['building', 'starting']);

/** An instance with its planned transition. */
export interface LiveInstance {
  record: InstanceRecord;
  /** Number of the planned transition; heap entries with another number are cancelled. */
  due: number;
}

interface Due {
  readonly live: LiveInstance;
  readonly due: number;
}

/** Dependencies of the instance table. */
export interface InstanceTableParts extends Pick<FakeCloudOptions, 'clock' | 'endpoints'> {
  readonly records: CloudRecords;
  readonly knobs: Knobs;
  readonly feed: EventFeed;
  /** A new id. */
  newId(): string;
}

/** The instances of a cloud and their state transitions, on one timer. */
export class InstanceTable {
  readonly ledger = new Ledger();
  readonly #parts: InstanceTableParts;
  readonly #instances = new Map<string, LiveInstance>();
  readonly #heap: TimerHeap<Due>;
  #due = 0;
  #nextZone = 0;

  constructor(parts: InstanceTableParts) {
    this.#parts = parts;
    this.#heap = new TimerHeap(parts.clock, ({ live, due }) => {
      if (live.due === due) this.#advance(live);
    });
  }

  /** Restores a record of an earlier process. */
  restore(record: InstanceRecord): void {
    const live: LiveInstance = { record, due: 0 };
    this.#instances.set(record.instance.id, live);
    if (!record.gone) this.ledger.count(record.instance, 1);
    if (record.next) this.#heap.add(record.next.atMs, { live, due: (live.due = ++this.#due) });
    if (record.instance.port !== undefined) this.#listen(live);
  }

  /** One instance, hidden or not. */
  find(id: string): LiveInstance | undefined {
    return this.#instances.get(id);
  }

  /** One listed instance. */
  visible(id: string): LiveInstance | undefined {
    const live = this.#instances.get(id);
    return live?.record.hidden ? undefined : live;
  }

  /** All listed instances. */
  *list(): Generator<CloudInstance> {
    for (const { record } of this.#instances.values()) if (!record.hidden) yield record.instance;
  }

  /** Cancels all planned transitions. */
  stop(): void {
    this.#heap.clear();
  }

  /** Creates an instance, subject to the configured failures. @returns its present state */
  make(order: InstanceOrder, flavor: Flavor): CloudInstance {
    const { knobs } = this.#parts;
    const isBroken = knobs.settings.brokenImages.includes(order.image) || knobs.happens('error-state');
    const next = knobs.happens('never-active') ? undefined : isBroken ? 'break' : 'activate';
    const afterMs = knobs.timeMs('create-time');
    const instant = afterMs === 0 && !knobs.settings.ssh.enabled;
    if (instant && next === 'activate') return this.insert(order, flavor, 'active').record.instance;
    const live = this.insert(order, flavor, 'building');
    this.schedule(live, next, afterMs);
    return live.record.instance;
  }

  /** Adds an instance in the given state. */
  insert(order: InstanceOrder, flavor: Flavor, status: 'building' | 'active'): LiveInstance {
    const { knobs, clock } = this.#parts;
    const { zones } = knobs.settings;
    const instance: CloudInstance = {
      id: this.#parts.newId(),
      name: order.name,
      status,
      metadata: { ...order.metadata },
      flavor: flavor.name,
      cores: flavor.cores,
      ram: flavor.ram,
      image: order.image,
      az: order.az ?? (zones.length > 0 ? (zones[this.#nextZone++ % zones.length] ?? null) : null),
      address: status === 'active' ? `${order.name}.fake` : null,
      createdMs: clock.now(),
    };
    const live: LiveInstance = { record: { instance }, due: 0 };
    this.#instances.set(instance.id, live);
    this.ledger.count(instance, 1);
    if (status === 'active') this.#planAccident(live);
    this.#publish(live);
    return live;
  }

  /** Changes an instance and emits the change. */
  update(live: LiveInstance, changes: Partial<InstanceRecord>): void {
    live.record = { ...live.record, ...changes };
    this.#publish(live);
  }

  /** Changes the status, and plans the transition that ends it. */
  move(live: LiveInstance, status: InstanceStatus, transition: Transition, afterMs: number): void {
    this.schedule(live, transition, afterMs);
    this.update(live, { instance: { ...live.record.instance, status } });
  }

  /** Adds tags to a listed instance. @returns whether it exists */
  tag(id: string, tags: Readonly<Record<string, string>>): boolean {
    const live = this.visible(id);
    if (!live) return false;
    const { instance } = live.record;
    this.update(live, { instance: { ...instance, metadata: { ...instance.metadata, ...tags } } });
    return true;
  }

  /** Plans the next transition; `undefined`: none. */
  schedule(live: LiveInstance, transition: Transition | undefined, afterMs = 0): void {
    if (transition) this.#plan(live, transition, afterMs);
    else {
      live.due = ++this.#due;
      live.record = { ...live.record, next: undefined };
    }
    this.#parts.records.set(live.record.instance.id, live.record);
  }

  /** Sets the status to `error`. */
  breakDown(live: LiveInstance, fault: string): void {
    this.schedule(live, undefined);
    this.update(live, { instance: { ...live.record.instance, status: 'error', fault } });
  }

  /** Hides the instance for a time. */
  hide(live: LiveInstance, forMs: number): void {
    this.schedule(live, 'show', forMs);
    this.update(live, { hidden: true });
  }

  /** Ends a deletion; a `resurrect` failure plans the return of the instance. */
  endLife(live: LiveInstance): void {
    const { knobs } = this.#parts;
    if (!knobs.happens('resurrect')) return this.erase(live);
    this.ledger.count(live.record.instance, -1);
    const instance: CloudInstance = { ...live.record.instance, status: 'active' };
    live.record = { instance, hidden: true, gone: true };
    this.#plan(live, 'return', knobs.timeMs('hide-time'));
    this.#publish(live);
  }

  /** Removes the instance at once. */
  erase(live: LiveInstance): void {
    const { endpoints, feed, records } = this.#parts;
    const { instance, gone } = live.record;
    live.due = ++this.#due;
    this.#instances.delete(instance.id);
    if (!gone) this.ledger.count(instance, -1);
    if (instance.hostKeys !== undefined) endpoints?.remove(instance.id);
    records.delete(instance.id);
    if (!live.record.hidden) feed.emit({ id: instance.id, instance: null });
  }

  /** Executes the planned transition. */
  #advance(live: LiveInstance): void {
    const { knobs } = this.#parts;
    const transition = live.record.next?.transition;
    const { instance } = live.record;
    live.record = { ...live.record, next: undefined };
    switch (transition) {
      case 'activate':
        if (!knobs.settings.ssh.enabled) this.#activate(live, { address: `${instance.name}.fake` });
        else if (knobs.happens('no-ssh')) this.#activate(live, { address: UNREACHABLE });
        else this.#listen(live);
        return;
      case 'halt':
        this.#parts.endpoints?.halt(instance.id);
        return this.update(live, { instance: { ...instance, status: 'stopped', address: null, port: undefined } });
      case 'break':
        return this.#breakIfShown(instance.id, 'the host of the instance failed');
      case 'vanish':
        return this.erase(live);
      case 'remove':
        return this.endLife(live);
      case 'hide': {
        const forMs = knobs.timeMs('hide-time');
        if (this.visible(instance.id) === live) this.hide(live, forMs);
        return;
      }
      case 'return':
        this.ledger.count(instance, 1);
        return this.update(live, { hidden: false, gone: false });
      case 'show':
        return this.update(live, { hidden: false });
      case undefined:
        return;
    }
  }

  /** Starts the SSH server of an instance, then activates a new instance. */
  #listen(live: LiveInstance): void {
    const { instance } = live.record;
    const { endpoints, knobs } = this.#parts;
    if (!endpoints) return this.#activate(live, { address: `${instance.name}.fake` });
    endpoints.open(instance, knobs.settings.ssh).then(
      (place) => {
        if (this.#instances.get(instance.id) !== live) endpoints.remove(instance.id);
        else if (COMING.has(live.record.instance.status)) this.#activate(live, place);
      },
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        this.#breakIfShown(instance.id, `failed to start its SSH server: ${reason}`);
      },
    );
  }

  #breakIfShown(id: string, fault: string): void {
    const live = this.visible(id);
    if (live) this.breakDown(live, fault);
  }

  #activate(live: LiveInstance, place: Pick<CloudInstance, 'address' | 'port' | 'hostKeys'>): void {
    live.record = { ...live.record, instance: { ...live.record.instance, ...place, status: 'active' } };
    this.#planAccident(live);
    this.#publish(live);
  }

  /** Plans a `vanish` or `hide` failure of an active instance. */
  #planAccident(live: LiveInstance): void {
    const { knobs } = this.#parts;
    const accident = knobs.happens('vanish') ? 'vanish' : knobs.happens('hide') ? 'hide' : undefined;
    if (accident) this.#plan(live, accident, knobs.timeMs('vanish-time'));
  }

  #plan(live: LiveInstance, transition: Transition, afterMs: number): void {
    const atMs = this.#parts.clock.now() + afterMs;
    live.record = { ...live.record, next: { transition, atMs } };
    live.due = ++this.#due;
    this.#heap.add(atMs, { live, due: live.due });
  }

  #publish(live: LiveInstance): void {
    const { instance, hidden } = live.record;
    this.#parts.records.set(instance.id, live.record);
    this.#parts.feed.emit({ id: instance.id, instance: hidden ? null : instance });
  }
}
