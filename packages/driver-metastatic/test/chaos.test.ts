import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NodeId, NodeRecord, RequestId } from '@nodepool/zk-protocol';
import { startWorld, yamlOf } from './harness.js';
import type { TestClient, World } from './harness.js';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.stop());

const HOSTS = 6;
const YAML = yamlOf({ hosts: HOSTS, label: 'grace-time: 0', provider: 'launch-timeout: 5' });

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

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)); // spreads the faults over real work

function backingOf(node: NodeRecord): { backing: NodeId; place: string } | undefined {
  const data = node.driverData as { backing_node: NodeId; slot: number } | null;
  return data ? { backing: data.backing_node, place: `${data.backing_node}/${data.slot}` } : undefined;
}

/** Looks at every change for what must never be. */
function watchInvariants(client: TestClient): string[] {
  const broken: string[] = [];
  client.nodes.onChange(({ before, after }) => {
    const place = after && backingOf(after);
    if (after && place) {
      for (const other of client.slots()) {
        if (other.id !== after.id && backingOf(other)?.place === place.place) {
          broken.push(`slot ${place.place} is that of ${other.id} and ${after.id}`);
        }
      }
    }
    const wasBacking = before?.provider === 'rack' && before.state === 'in-use' && typeof before.userData === 'string';
    if (!wasBacking || after?.state === 'in-use') return;
    for (const slot of client.slots()) {
      if (backingOf(slot)?.backing === before.id) broken.push(`${before.id} was given back under slot node ${slot.id}`);
    }
  });
  return broken;
}

async function run(seed: number): Promise<void> {
  const random = randomOf(seed);
  const client = await world.client();
  const broken = watchInvariants(client);
  const launchers = [await world.launcher(YAML), await world.launcher(YAML), await world.launcher(YAML)];
  const open = new Set<RequestId>();
  const inUse: NodeId[] = [];
  for (let step = 0; step < 40; step++) {
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
    } else if (dice < 0.95) {
      const [id] = open;
      if (id !== undefined && open.delete(id)) await client.zk.delete(`/nodepool/requests/${id}`);
    } else if (dice < 0.96) {
      await world.restartServer();
      await client.zk.whenConnected();
    } else {
      const index = Math.floor(random() * launchers.length);
      const [victim] = launchers.splice(index, 1);
      await victim?.kill();
      launchers.push(await world.launcher(YAML));
    }
    await pause(random() * 20);
  }
  for (const id of open) await client.zk.delete(`/nodepool/requests/${id}`);
  for (const node of inUse) await client.giveBack(node);
  await client.until('everything is back in the rack', nothingLeft(client));
  expect(broken, `seed ${seed}`).toEqual([]);
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
    const all = client.all();
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
  it.each(Array.from({ length: count }, (_, i) => first + i))(
    'leak nothing and take nothing away: seed %i',
    run,
    60_000,
  );
});
