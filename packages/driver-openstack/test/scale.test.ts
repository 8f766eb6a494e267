import { afterEach, describe, expect, it } from 'vitest';
import { World } from './support/world.js';

let world: World;
afterEach(async () => {
  await world.end();
});

describe('200 servers at once that boot in 2 s, over HTTP', () => {
  it('are all ready within 1.3 times that and a second for each hundred', async () => {
    world = await new World().start();
    Object.assign(world.cloud.state.knobs, { bootMs: 2_000, apiMs: 20 });
    const startedMs = world.clock?.now() ?? 0;

    const made = await world.during(Promise.all(Array.from({ length: 200 }, () => world.launch())));

    expect(made.every(({ state }) => state === 'ready')).toBe(true);
    expect((world.clock?.now() ?? 0) - startedMs).toBeLessThan(1.3 * 2_000 + 2_000);
  });

  it('are all ready on a real clock too', async () => {
    world = await new World({ real: true }).start();
    world.cloud.state.knobs.bootMs = 2_000;

    const made = await Promise.all(Array.from({ length: 200 }, () => world.launch()));

    expect(made.every(({ state }) => state === 'ready')).toBe(true);
  });
});

describe('calls', () => {
  it('per node are three and a share of one list a second, whatever the number of nodes', async () => {
    const rows: string[] = [];
    for (const count of [10, 100, 1_000]) {
      world = await new World({ entry: { 'launch-timeout': 3_600 } }).start();
      Object.assign(world.cloud.state.knobs, { bootMs: 30_000, deleteMs: 10_000 });
      await world.pass(5_000);
      const before = world.cloud.calls.length;
      const fromMs = world.clock?.now() ?? 0;
      const made = await world.during(Promise.all(Array.from({ length: count }, () => world.launch())));
      await world.during(Promise.all(made.map(({ node }) => world.cleanUp(node))));
      const seconds = ((world.clock?.now() ?? 0) - fromMs) / 1_000;
      const calls = world.cloud.calls.slice(before);
      const of = (method: string, path: RegExp) =>
        calls.filter((call) => call.method === method && path.test(call.path)).length;
      const creates = of('POST', /^\/servers$/);
      const deletes = of('DELETE', /^\/servers/);
      const lists = of('GET', /detail/);
      const proofs = of('GET', /^\/servers\/(?!detail)/);
      const others = calls.length - creates - deletes - lists - proofs;

      rows.push(
        `${count} nodes: ${(creates / count).toFixed(2)} creates, ${(deletes / count).toFixed(2)} deletes, ` +
          `${(lists / count).toFixed(3)} lists, ${(others / count).toFixed(3)} others each; ${(lists / seconds).toFixed(2)} lists a second`,
      );
      expect([creates, deletes]).toEqual([count, count]);
      expect(lists / seconds).toBeLessThanOrEqual(1);
      expect(others + proofs - count, 'one proof that each is gone').toBeLessThan(12);
      await world.end();
    }
    process.stdout.write(`${rows.join('\n')}\n`);
  }, 120_000);
});
