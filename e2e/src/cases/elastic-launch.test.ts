import { describe, expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { useElastic } from '../use-harness.js';

const get = useElastic();

describe('an elastic pool', () => {
  it('launches an instance for each node of a request and deletes it after use', async () => {
    const zuul = await get().newClient();
    await get().launch(oneProvider());

    const nodes = await zuul.getNodes(['small', 'small', 'small']);
    const launched = [...get().cloud.instances.keys()].sort();
    const [first] = nodes.map(({ body }) => body);
    await zuul.giveBack(nodes);
    await get().cloud.until((instances) => instances.length === 0);

    expect(nodes.map(({ body }) => body['external_id']).sort()).toEqual(launched);
    expect(new Set(launched).size).toBe(3);
    expect(first).toMatchObject({ provider: 'cloud-one', pool: 'main', type: ['small'], state: 'in-use' });
  });

  it('gives the nodes of a request in the order of its labels', async () => {
    const zuul = await get().newClient();
    await get().launch(oneProvider({ labels: ['small', 'big'] }));

    const nodes = await zuul.getNodes(['big', 'small', 'big']);
    await zuul.giveBack(nodes);

    expect(nodes.map(({ body }) => body.type[0])).toEqual(['big', 'small', 'big']);
  });

  it('replaces a broken instance by another one', async () => {
    const zuul = await get().newClient();
    await get().launch(oneProvider({}, { cloudSettings: { 'create-time': 600 } }));
    let broken: string | undefined;
    get().cloud.onChange(({ id, instance }) => {
      if (broken !== undefined || instance?.status !== 'building') return;
      broken = id;
      void get().cloud.set('create-time', 0);
      void get().cloud.call('breakDown', id);
    });

    const nodes = await zuul.getNodes(['small']);
    await zuul.giveBack(nodes);

    expect(broken).toBeDefined();
    expect(nodes[0]?.body['external_id']).not.toBe(broken);
    expect(get().cloud.most).toBe(1);
  });

  it('fails a request when all its launches fail, and leaves no instance', async () => {
    const zuul = await get().newClient();
    await get().launch(oneProvider({}, { cloudSettings: { failures: { 'error-state': 1 } } }));

    const id = await zuul.submit(['small', 'small']);
    const { state } = await zuul.wait(id);
    await zuul.cancel(id);

    expect(state).toBe('failed');
  });

  it('creates no more instances for a request withdrawn during its launches', async () => {
    const zuul = await get().newClient();
    await get().launch(
      oneProvider({}, { labels: { small: { 'max-ready-age': 1 } }, cloudSettings: { 'create-time': 1 } }),
    );

    const id = await zuul.submit(['small', 'small']);
    await get().cloud.until((instances) => instances.length === 2);
    await zuul.cancel(id);
    await get().cloud.until((instances) => instances.length === 0);

    expect(get().cloud.most).toBe(2);
  });

  it('serves other requests when the instance of a node has vanished, and deletes the node after use', async () => {
    const zuul = await get().newClient();
    await get().launch(oneProvider());

    const nodes = await zuul.getNodes(['small']);
    await get().cloud.call('kill', nodes[0]?.body['external_id']);
    const others = await zuul.getNodes(['small']);
    await zuul.giveBack([...nodes, ...others]);

    expect(others[0]?.body['external_id']).not.toBe(nodes[0]?.body['external_id']);
  });
});
