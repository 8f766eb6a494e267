import { afterEach, describe, expect, it } from 'vitest';
import { delay } from '@nodepool/zk-protocol';
import type { NodeId, RequestId } from '@nodepool/zk-protocol';
import type { TransactionListener } from '@nodepool/zk-protocol/memory';
import { virtualBackend } from './backend.js';
import { startWorld, yamlOf } from './harness.js';
import type { TestClient, World } from './harness.js';

let world: World | undefined;
afterEach(() => world?.stop());

const HOSTS = 6;
const YAML = yamlOf({ hosts: HOSTS, label: 'grace-time: 0', provider: 'launch-timeout: 60' });

/** Small, fast and the same on every machine. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Body {
  readonly provider: string | null;
  readonly state: string;
  readonly user_data: unknown;
  readonly driver_data: { backing_node: string; slot: number } | null;
}

/** Looks at the records after every single transaction for what must never be. */
class Invariants {
  readonly broken: string[] = [];
  readonly #nodes = new Map<string, Body>();

  readonly look: TransactionListener = (transaction) => {
    const givenBack: string[] = [];
    for (const change of transaction.changes) {
      const id = 'path' in change ? /^\/nodepool\/nodes\/(\d{10})$/.exec(change.path)?.[1] : undefined;
      if (id === undefined) continue;
      const before = this.#nodes.get(id);
      const data = 'data' in change ? (change.data?.toString('utf8') ?? '') : '';
      const after = data === '' ? undefined : (JSON.parse(data) as Body);
      if (after) this.#nodes.set(id, after);
      else this.#nodes.delete(id);
      if (isBacking(before) && !isBacking(after)) givenBack.push(id);
      if (after?.driver_data) this.#checkPlace(id, after.driver_data);
    }
    for (const backing of givenBack) {
      for (const [id, { driver_data: place }] of this.#nodes) {
        if (place?.backing_node === backing) this.broken.push(`${backing} was given back under slot node ${id}`);
      }
    }
  };

  #checkPlace(id: string, { backing_node: backing, slot }: NonNullable<Body['driver_data']>): void {
    if (slot >= 4) this.broken.push(`${backing} has no slot ${slot}`);
    for (const [other, { driver_data: place }] of this.#nodes) {
      if (other !== id && place?.backing_node === backing && place.slot === slot) {
        this.broken.push(`slot ${slot} of ${backing} is that of ${other} and ${id}`);
      }
    }
  }
}

function isBacking(body: Body | undefined): boolean {
  return body?.state === 'in-use' && typeof body.user_data === 'string';
}

/** In one piece: what may happen, each with its share of the dice. */
async function run(seed: number): Promise<void> {
  const random = randomOf(seed);
  const invariants = new Invariants();
  world = await startWorld(virtualBackend(invariants.look));
  const { clock } = world;
  const client = await world.client();
  const start = (here: World) => here.launcher(YAML, { random });
  const launchers = [await start(world), await start(world), await start(world)];
  const open = new Set<RequestId>();
  const inUse: NodeId[] = [];
  for (let step = 0; step < 60; step++) {
    const dice = random();
    if (dice < 0.45) {
      const id = await client.ask(['small', ...(random() < 0.3 ? ['small'] : [])]);
      open.add(id);
    } else if (dice < 0.7) {
      const ready = [...open].find((id) => client.requests.get(id)?.state === 'fulfilled');
      if (ready !== undefined && open.delete(ready)) {
        for (const node of await client.use(ready)) inUse.push(node.id);
      }
    } else if (dice < 0.9) {
      const node = inUse.splice(Math.floor(random() * inUse.length), 1)[0];
      if (node !== undefined) await client.giveBack(node);
    } else if (dice < 0.92) {
      const [id] = open;
      if (id !== undefined && open.delete(id)) await client.zk.delete(`/nodepool/requests/${id}`);
    } else if (dice < 0.96) {
      await world.breakConnections();
      await client.zk.whenConnected();
    } else {
      const index = Math.floor(random() * launchers.length);
      const [victim] = launchers.splice(index, 1);
      await victim?.kill();
      launchers.push(await start(world));
    }
    await delay(clock, random() * 30);
  }
  for (const id of open) await client.zk.delete(`/nodepool/requests/${id}`);
  for (const node of inUse) await client.giveBack(node);
  await client.until('everything is back in the rack', nothingLeft(client));
  expect(invariants.broken, `seed ${seed}`).toEqual([]);
}

/** Free slots stay as they are, so use them up; then everything must go back to the rack. */
function nothingLeft(client: TestClient): () => boolean {
  const deleting = new Set<NodeId>();
  return () => {
    for (const node of client.slots()) {
      if (node.state !== 'ready' || node.allocatedTo !== null || deleting.has(node.id)) continue;
      deleting.add(node.id);
      void client.expire(node);
    }
    // A launcher that dies between making a record and locking it leaves it `init`, which is core's to clear up.
    const all = client.all().filter(({ state }) => state !== 'init');
    return (
      client.backingRequests().length === 0 &&
      all.length === HOSTS &&
      all.every((node) => node.state === 'ready' && node.allocatedTo === null && node.provider === 'rack')
    );
  };
}

describe('three launchers that die at any moment', () => {
  const first = Number(process.env['CHAOS_SEED'] ?? 1);
  const count = Number(process.env['CHAOS_SEEDS'] ?? 4);
  it.each(Array.from({ length: count }, (_, i) => first + i))('leak nothing and take nothing away: seed %i', run);
});
