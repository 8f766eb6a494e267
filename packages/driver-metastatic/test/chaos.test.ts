import { afterEach, describe, expect, it } from 'vitest';
import { Random } from '@nodepool/core/testing';
import { delay } from '@nodepool/zk-protocol';
import type { NodeId, RequestId } from '@nodepool/zk-protocol';
import type { TransactionListener } from '@nodepool/zk-protocol/memory';
import { virtualBackend } from './backend.js';
import { startWorld, yamlOf } from './world.js';
import type { TestClient, World } from './world.js';

let world: World | undefined;
afterEach(() => world?.stop());

const HOSTS = 6;
const YAML = yamlOf({ hosts: HOSTS, label: 'grace-time: 0', provider: 'launch-timeout: 60' });

interface Body {
  readonly provider: string | null;
  readonly state: string;
  readonly user_data: unknown;
  readonly driver_data: { backing_node: string; slot: number } | null;
}

/** Checks the records after each transaction for states that must never occur. */
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
        this.broken.push(`slot ${slot} of ${backing} has two nodes, ${other} and ${id}`);
      }
    }
  }
}

function isBacking(body: Body | undefined): boolean {
  return body?.state === 'in-use' && typeof body.user_data === 'string';
}

/** In one piece: the possible events, each with its probability. */
async function run(seed: number): Promise<void> {
  const random = new Random(seed).next;
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
  await client.until('all machines are back in the rack', nothingLeft(client));
  expect(invariants.broken, `seed ${seed}`).toEqual([]);
}

/** Expires free slots; then every machine must return to the rack. */
function nothingLeft(client: TestClient): () => boolean {
  const deleting = new Set<NodeId>();
  return () => {
    for (const node of client.slots()) {
      if (node.state !== 'ready' || node.allocatedTo !== null || deleting.has(node.id)) continue;
      deleting.add(node.id);
      void client.expire(node);
    }
    // A launcher that dies between creating and locking a record leaves it `init`; core deletes it.
    const all = client.all().filter(({ state }) => state !== 'init');
    return (
      client.backingRequests().length === 0 &&
      all.length === HOSTS &&
      all.every((node) => node.state === 'ready' && node.allocatedTo === null && node.provider === 'rack')
    );
  };
}

describe('three launchers that crash at any moment', () => {
  const first = Number(process.env['CHAOS_SEED'] ?? 1);
  const count = Number(process.env['CHAOS_SEEDS'] ?? 4);
  it.each(Array.from({ length: count }, (_, i) => first + i))('leak nothing and break no invariant: seed %i', run);
});
