import { describe, expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { useElastic } from '../use-harness.js';

const get = useElastic();

async function expectFailure(labels: string[]): Promise<Record<string, unknown>> {
  const zuul = await get().newClient();
  const id = await zuul.submit(labels);
  const request = await zuul.wait(id);
  await zuul.cancel(id);
  expect(request.state).toBe('failed');
  expect(request.declined_by).toHaveLength(1);
  return request;
}

describe('an unsatisfiable request fails', () => {
  it('for a label that no pool has', async () => {
    await get().launch(oneProvider());

    const request = await expectFailure(['unheard-of']);

    expect(JSON.stringify(request['decline_reasons'])).toContain('unheard-of');
  });

  it('for one label that the pool has and one that no pool has', async () => {
    await get().launch(oneProvider());

    await expectFailure(['small', 'unheard-of']);

    expect(get().cloud.most).toBe(0);
  });

  it('for a label of a pool with max-servers 0', async () => {
    await get().launch(oneProvider({ maxServers: 0 }));

    await expectFailure(['small']);

    expect(get().cloud.most).toBe(0);
  });

  it('for a label of a pool with a negative max-servers', async () => {
    await get().launch(oneProvider({ maxServers: -5 }));

    await expectFailure(['small']);

    expect(get().cloud.most).toBe(0);
  });

  it('for 5,000 nodes of a pool of 100, and the pool continues to serve', async () => {
    const zuul = await get().newClient();
    await get().launch(oneProvider({ maxServers: 100 }));

    await expectFailure(Array<string>(5_000).fill('small'));
    const nodes = await zuul.getNodes(['small']);
    await zuul.giveBack(nodes);

    expect(get().cloud.most).toBe(1);
  });
});

describe('a pool without limits', () => {
  it('survives a request for 5,000 nodes and releases them when it is withdrawn', async () => {
    const zuul = await get().newClient();
    const launcher = await get().launch(oneProvider({}, { labels: { small: { 'max-ready-age': 2 } } }));

    const id = await zuul.submit(Array<string>(5_000).fill('small'));
    const request = await zuul.wait(id, 250_000);
    // on a busy machine the launcher may lose its connection and reconnect
    await expect.poll(async () => (await fetch(`http://127.0.0.1:${launcher.webPort}/ready`)).text()).toBe('OK');
    await zuul.cancel(id);
    await get().assertClean(250_000);

    expect(request.state).toBe('fulfilled');
    expect(new Set(request.nodes).size).toBe(5_000);
    expect(get().cloud.most).toBe(5_000);
  }, 600_000);

  it('accepts -1 for no limit in every quota key', async () => {
    const zuul = await get().newClient();
    const unlimited = { 'max-cores': -1, 'max-ram': -1, 'max-volumes': -1, 'max-volume-gb': -1 };
    const quota = { instances: -1, cores: -1, ram: -1 };
    await get().launch(oneProvider({ more: unlimited }, { cloudSettings: { quota } }));

    const nodes = await zuul.getNodes(['small', 'small']);
    await zuul.giveBack(nodes);

    expect(nodes).toHaveLength(2);
  });
});
