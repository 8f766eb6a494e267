import { isZooKeeperError, LEASES_ROOT, NODES_ROOT, requestCreatePath } from '@nodepool/zk-protocol';
import type { Random } from '@nodepool/core/testing';
import { SimulatedProcess } from '../world/process.js';
import { NEWER_RELEASE, type World } from '../world/world.js';
import type { Lessee } from './lessee.js';

/** Contents that this release cannot read. */
export const CONTENTS = ['{"state": "re', '[]', '"ready"', '{"state": 7, "nodes": {}}', '\u0000\u0001', 'null'];

/** Another program writes nodes, requests and leases of which this release understands nothing, and removes them again. */
export class NewerRelease {
  readonly #world: World;
  readonly #random: Random;
  readonly #process: SimulatedProcess;
  readonly #written = new Set<string>();

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#process = new SimulatedProcess(world, NEWER_RELEASE, world.server);
  }

  /** Writes one record; lessees ask for the lease, and request it. */
  write(lessees: readonly Lessee[]): void {
    const random = this.#random;
    const [kind, key] = [random.pick(['node', 'request', 'lease'] as const), random.hex(32)];
    const lessee = kind === 'lease' && lessees.length > 0 ? random.pick(lessees) : undefined;
    const lease = lessee?.leaseIdOf(key) ?? key;
    const path = { node: `${NODES_ROOT}/`, request: requestCreatePath(200), lease: `${LEASES_ROOT}/${lease}` }[kind];
    void this.#try(async (zk) => {
      const written = await zk.create(path, random.pick(CONTENTS), { sequential: kind !== 'lease' });
      this.#written.add(written);
      lessee?.repeatUnreadable(key);
      this.#world.clock.setTimer(random.between(1_000, 20_000), () => this.#remove(written));
    });
  }

  /** Removes all that is left. */
  end(): void {
    for (const path of this.#written) this.#remove(path);
  }

  #remove(path: string): void {
    void this.#try(async (zk) => {
      const { data, stat } = await zk.getData(path);
      // a lessee may have made a lease of this name since, and in another database it is another record
      if (CONTENTS.includes(data.toString())) await zk.delete(path, stat.version);
      this.#written.delete(path);
    });
  }

  async #try(act: (zk: SimulatedProcess['zk']) => Promise<void>): Promise<void> {
    try {
      await act(this.#process.zk);
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      this.#world.trace.add(NEWER_RELEASE, () => String(error));
    }
  }
}
