import {
  isZooKeeperError,
  LEASES_ROOT,
  nodePath,
  requestPath,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import type { Random } from '@nodepool/core/testing';
import { SimulatedProcess } from '../world/process.js';
import { Violation } from '../world/violation.js';
import { NEWER_RELEASE, type World } from '../world/world.js';

/** Within this time a launcher that runs undisturbed has logged that it cannot read a record. */
const REPORTED_MS = 5_000;
const LASTS_MS = { least: 1_000, most: 20_000 };

/** A record that was spoiled. */
interface Spoiled {
  readonly id: string;
  readonly before: Buffer;
  readonly after: string;
  readonly sinceMs: number;
}

/** A broken tool overwrites records of nodes, requests and leases with what cannot be read, and later with what they were. */
export class BrokenTool {
  readonly #world: World;
  readonly #random: Random;
  readonly #process: SimulatedProcess;
  /** By path. */
  readonly #spoiled = new Map<string, Spoiled>();

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#process = new SimulatedProcess(world, NEWER_RELEASE, world.server);
  }

  /** Spoils one record, whatever is done with it at the moment. */
  spoil(): void {
    const random = this.#random;
    const paths = this.#paths();
    if (paths.length === 0) return;
    const path = random.pick(paths);
    void this.#try(async (zk) => {
      const { data: before, stat } = await zk.getData(path);
      if (before.length === 0 || this.#spoiled.has(path)) return;
      const after = spoilt(before.toString(), random);
      const id = path.slice(path.lastIndexOf('/') + 1);
      // the database may be copied before the answer
      this.#world.spoiled.set(path, { before, after });
      this.#spoiled.set(path, { id, before, after, sinceMs: this.#world.elapsedMs });
      await zk.setData(path, after, stat.version);
      this.#world.trace.add('chaos', () => `a broken tool writes ${path}: ${after}`);
      this.#world.clock.setTimer(random.between(LASTS_MS.least, LASTS_MS.most), () => this.#repair(path));
    });
  }

  /** Repairs all records. */
  end(): void {
    for (const path of this.#spoiled.keys()) this.#repair(path);
  }

  #paths(): string[] {
    const { checker, leases } = this.#world;
    const kind = this.#random.pick(['node', 'request', 'lease'] as const);
    if (kind === 'node') return [...checker.nodes.values()].map(({ id }) => nodePath(id as NodeId));
    if (kind === 'request') return [...checker.requests.keys()].map((id) => requestPath(id as RequestId));
    return [...leases.leases.keys()].map((id) => `${LEASES_ROOT}/${id}`);
  }

  /** Writes what the record was, unless it was removed or written since. */
  #repair(path: string): void {
    const spoiled = this.#spoiled.get(path);
    if (!spoiled) return;
    void this.#try(async (zk) => {
      const { data, stat } = await zk.getData(path);
      if (data.toString() === spoiled.after) {
        this.#checkReported(spoiled);
        await zk.setData(path, spoiled.before, stat.version);
      }
      this.#spoiled.delete(path);
    });
  }

  /** Meaningful where nothing else goes wrong. */
  #checkReported({ id, sinceMs }: Spoiled): void {
    const { drawn, reported, elapsedMs } = this.#world;
    if (drawn.size > 1 || reported.has(id) || elapsedMs - sinceMs < REPORTED_MS) return;
    this.#world.violate(new Violation(`no launcher has logged that it cannot read record ${id}`));
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

/** They take values of other types, so that the record could still be read. */
const OF_ANY_TYPE: ReadonlySet<string> = new Set(
  'external_id connection_port ssh_port user_data driver_data hold_expiration'.split(' '),
);

/** A value of the wrong type in one field, or no JSON any more. */
function spoilt(body: string, random: Random): string {
  if (random.chance(0.3)) return body.slice(0, random.int(1, body.length - 1));
  const record = JSON.parse(body) as Record<string, unknown>;
  const keys = Object.keys(record).filter((key) => typeof record[key] === 'string' && !OF_ANY_TYPE.has(key));
  if (keys.length === 0) return '[]';
  return JSON.stringify({ ...record, [random.pick(keys)]: random.pick([7, {}, [[]], true]) });
}
