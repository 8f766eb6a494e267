import type { NodeEntry } from '@nodepool/core/testing';
import {
  isInForce,
  newControl,
  removeControl,
  storeControl,
  type ControlKind,
  type ControlMode,
  type ControlRecord,
  type ControlSubject,
} from '@nodepool/zk-protocol';
import type { Fleet } from '../fleets/fleet.js';
import { Violation } from '../world/violation.js';
import { SimulatedProcess } from '../world/process.js';
import type { Random } from '@nodepool/core/testing';
import type { World } from '../world/world.js';
import type { SimulatedLauncher } from './launcher.js';

/** After this time, launches from before an order have their records. */
const GRACE_MS = 15_000;

/** An operator who pauses, drains and limits. A launch against an order is a violation. */
export class Orders {
  readonly #world: World;
  readonly #launchers: readonly SimulatedLauncher[];
  readonly #fleets: readonly Fleet[];
  readonly #labels: readonly string[];
  readonly #random: Random;
  readonly #process: SimulatedProcess;
  /** Orders in force, by kind and name. */
  readonly #given = new Map<string, ControlRecord>();
  #drained: string | undefined;
  #isOver = false;
  #written = Promise.resolve();

  constructor(
    world: World,
    launchers: readonly SimulatedLauncher[],
    fleets: readonly Fleet[],
    labels: readonly string[],
  ) {
    this.#world = world;
    this.#launchers = launchers;
    this.#fleets = fleets;
    this.#labels = labels;
    this.#random = world.random.fork();
    this.#process = new SimulatedProcess(world, 'orders', world.server);
    world.onReplaced.push(() => {
      if (this.#isOver) this.#write(() => this.#removeRestored());
    });
    world.checker.watch((before, after, who) => {
      if (before === undefined) this.#checkNewNode(after, who);
    });
  }

  /** Gives an order that expires or is withdrawn. */
  giveAny(): void {
    const random = this.#random;
    const mode = random.pick<ControlMode>(['pause', 'drain', 'limit']);
    const lastsMs = random.between(5_000, 40_000);
    const endsItself = random.chance(0.5);
    const control = this.#give({
      ...this.#anySubject(),
      ...{ mode, limit: mode === 'limit' ? random.int(0, 4) : null },
      endTimeMs: endsItself ? this.#world.clock.now() + lastsMs : null,
    });
    if (!endsItself) this.#world.clock.setTimer(lastsMs, () => this.#takeBack(control));
  }

  /** Withdraws all orders. */
  end(): void {
    this.#drained = undefined;
    for (const control of [...this.#given.values()]) this.#takeBack(control);
    this.#isOver = true;
    if (this.#world.replacements > 0) this.#write(() => this.#removeRestored());
  }

  /** Drains one provider while nothing else is in progress. */
  drainOne(): void {
    const [fleet] = this.#fleets.filter(({ driver }) => driver.capabilities.launches);
    this.#drained = fleet?.name;
    if (fleet) this.#give({ kind: 'provider', name: fleet.name, mode: 'drain', limit: null, endTimeMs: null });
  }

  /** Ready nodes that the drained provider still has. */
  undrained(): string[] {
    const left = [...this.#world.checker.nodes.values()].filter(
      ({ body, state, allocatedTo }) =>
        body['provider'] === this.#drained && state === 'ready' && allocatedTo === null && this.#drained !== undefined,
    );
    return left.map(({ id }) => `node ${id} of drained provider ${this.#drained} is ready`);
  }

  #anySubject(): ControlSubject {
    const random = this.#random;
    const kind = random.pick<ControlKind>(['provider', 'pool', 'label']);
    if (kind === 'label') return { kind, name: random.pick(this.#labels) };
    const fleet = random.pick(this.#fleets);
    if (kind === 'provider') return { kind, name: fleet.name };
    const pools = fleet.entry()['pools'] as { name: string }[];
    return { kind, name: `${fleet.name}/${pools.length > 0 ? random.pick(pools).name : 'main'}` };
  }

  #give(order: ControlSubject & Pick<ControlRecord, 'mode' | 'limit' | 'endTimeMs'>): ControlRecord {
    const control = newControl({ ...order, owner: 'operator' }, this.#world.clock.now());
    this.#given.set(`${order.kind} ${order.name}`, control);
    this.#world.trace.add('operator', `orders ${order.mode} ${order.limit ?? ''} for ${order.kind} ${order.name}`);
    this.#write(() => storeControl(this.#process.zk, control));
    return control;
  }

  /** Withdraws an order, unless a newer one has replaced it. */
  #takeBack(control: ControlRecord): void {
    const key = `${control.kind} ${control.name}`;
    if (this.#given.get(key) !== control) return;
    this.#given.delete(key);
    this.#world.trace.add('operator', `takes the order for ${key} back`);
    this.#write(() => removeControl(this.#process.zk, control));
  }

  /** Withdraws the orders of an older copy of the database, which were withdrawn after it was made. */
  async #removeRestored(): Promise<void> {
    for (const path of this.#world.stored.controls.keys()) await this.#process.zk.deleteRecursive(path);
  }

  /** Writes again what a broken connection or another database kept from being written. */
  async #try(write: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await write();
        return;
      } catch (error) {
        if (!this.#world.goesOnAfter(error)) throw error;
        this.#world.trace.add('operator', () => `repeats an order: ${String(error)}`);
        await this.#process.zk.whenConnected();
      }
    }
  }

  /** Writes orders one after another, so that an order exists before it is withdrawn. */
  #write(write: () => Promise<unknown>): void {
    this.#written = this.#written
      .then(() => this.#try(write))
      .then(
        () => {},
        (error: unknown) => this.#world.violate(new Violation(`an order could not be written: ${String(error)}`)),
      );
  }

  #checkNewNode(node: NodeEntry, who: string): void {
    const launcher = this.#launchers.find(({ name }) => name === who);
    const fleet = this.#fleets.find(({ name }) => name === node.body['provider']);
    if (!launcher || !fleet?.driver.capabilities.launches) return;
    const { clock, elapsedMs, launcherCount } = this.#world;
    for (const { control, heardMs } of launcher.orders()) {
      if (elapsedMs - heardMs < GRACE_MS || !isInForce(control, clock.now()) || !isAbout(control, node)) continue;
      const doing = `${who} makes node ${node.id} against the order to ${control.mode} ${control.kind} ${control.name}`;
      if (control.mode !== 'limit') this.#world.violate(new Violation(doing));
      const count = [...this.#world.checker.nodes.values()].filter((other) => isAbout(control, other)).length;
      if (control.mode === 'limit' && count > (control.limit ?? 0) * launcherCount) {
        this.#world.violate(new Violation(`${doing} to ${control.limit}: it is number ${count}`));
      }
    }
  }
}

function isAbout({ kind, name }: ControlRecord, { body, labels }: NodeEntry): boolean {
  if (kind === 'provider') return body['provider'] === name;
  const { provider, pool } = body;
  if (kind === 'pool')
    return typeof provider === 'string' && typeof pool === 'string' && `${provider}/${pool}` === name;
  return labels.includes(name);
}
