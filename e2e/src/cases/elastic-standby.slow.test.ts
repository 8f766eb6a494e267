import { describe, expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { useElastic } from '../use-harness.js';

const get = useElastic();

describe('min-ready', () => {
  it('keeps exactly as many nodes on standby and replaces those taken', async () => {
    get().standby = 3;
    const zuul = await get().newClient();
    await get().launch(oneProvider({}, { labels: { small: { 'min-ready': 3 } } }));
    await get().assertClean();
    const standby = new Set(get().cloud.instances.keys());

    const nodes = await zuul.getNodes(['small']);
    await get().cloud.until((instances) => instances.length === 4);
    await zuul.giveBack(nodes);
    await get().assertClean();

    expect(standby).toContain(nodes[0]?.body['external_id']);
    expect(get().cloud.most).toBe(4);
  });

  it('is kept once, not by each of two launchers', async () => {
    get().standby = 5;
    const setup = oneProvider({}, { labels: { small: { 'min-ready': 5 } } });

    await Promise.all([get().launch(setup, { name: 'launcher-a' }), get().launch(setup, { name: 'launcher-b' })]);
    await get().assertClean();

    expect(get().cloud.most).toBe(5);
  });

  it('gives up a standby node for a request that fits nowhere else', async () => {
    get().standby = 1;
    const zuul = await get().newClient();
    const setup = oneProvider({ labels: ['small', 'big'], maxServers: 1 }, { labels: { small: { 'min-ready': 1 } } });
    await get().launch(setup);
    await get().assertClean();

    const nodes = await zuul.getNodes(['big']);
    await zuul.giveBack(nodes);
    await get().assertClean();

    expect(get().cloud.most).toBe(1);
  });

  it('backs off when launches fail', async () => {
    await get().launch(
      oneProvider(
        {},
        {
          labels: { small: { 'min-ready': 1 } },
          cloudSettings: { failures: { 'error-state': 1 }, 'create-time': 0.01 },
        },
      ),
    );
    const made = new Set<string>();
    get().cloud.onChange(({ id }) => made.add(id));

    await get().cloud.until(() => made.size >= 3);
    await get().cloud.set('failures.error-state', 0);
    get().standby = 1;
    await get().assertClean();

    expect(made.size).toBeLessThan(30);
  });
});

describe('age limits', () => {
  it('replace standby nodes older than max-ready-age', async () => {
    get().standby = 2;
    await get().launch(oneProvider({}, { labels: { small: { 'min-ready': 2, 'max-ready-age': 2 } } }));
    await get().assertClean();
    const first = [...get().cloud.instances.keys()];

    await get().cloud.until((instances) => instances.length === 2 && instances.every(({ id }) => !first.includes(id)));

    expect(get().cloud.most).toBeLessThanOrEqual(4);
  });

  it('delete a held node at its hold_expiration or at max-hold-age', async () => {
    const zuul = await get().newClient();
    const launcher = await get().launch(oneProvider({}, { more: { 'max-hold-age': 3_600 } }));
    const [long, short] = [await zuul.getNodes(['small']), await zuul.getNodes(['small'])];

    await zuul.hold(long, 'for a look');
    await zuul.hold(short, 'for a short look', 1);
    await get().cloud.until((instances) => instances.length === 1);
    const left = [...get().cloud.instances.keys()];
    await get().reconfigure(launcher, oneProvider({}, { more: { 'max-hold-age': 1 } }));
    await get().cloud.until((instances) => instances.length === 0);

    expect(left).toEqual([long[0]?.body['external_id']]);
  });
});
