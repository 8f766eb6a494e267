import type { InstanceTable, LiveInstance } from './instance-table.js';
import type { Knobs } from './knobs.js';
import { CloudFailure } from './types.js';

/** Stops instances, and starts them again. */
export class Power {
  readonly #instances: InstanceTable;
  readonly #knobs: Knobs;

  constructor(instances: InstanceTable, knobs: Knobs) {
    this.#instances = instances;
    this.#knobs = knobs;
  }

  /**
   * Starts stopping an instance; does nothing if it is stopped or being stopped.
   * @throws {CloudFailure} `not-found`; `failed`: it does not run
   */
  stop(id: string): void {
    const live = this.#existing(id);
    const { status } = live.record.instance;
    if (status === 'stopped' || status === 'stopping') return;
    if (status !== 'active') throw new CloudFailure('failed', `instance ${id} is ${status}: it cannot be stopped`);
    this.#instances.move(live, 'stopping', 'halt', this.#knobs.timeMs('stop-time'));
  }

  /**
   * Starts a stopped instance; does nothing if it runs or is being started.
   * @throws {CloudFailure} `not-found`; `failed`: it is not stopped
   */
  start(id: string): void {
    const live = this.#existing(id);
    const { status } = live.record.instance;
    if (status === 'active' || status === 'starting') return;
    if (status !== 'stopped') throw new CloudFailure('failed', `instance ${id} is ${status}: it cannot be started`);
    this.#instances.move(live, 'starting', 'activate', this.#knobs.timeMs('start-time'));
  }

  #existing(id: string): LiveInstance {
    const live = this.#instances.visible(id);
    if (!live) throw new CloudFailure('not-found', `instance ${id} does not exist`);
    return live;
  }
}
