import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ElasticSetup } from '../elastic-config.js';
import { FakeCloudProcess } from '../fake-cloud.js';
import { useElastic } from '../use-harness.js';
import { parseBody } from '../zuul-records.js';

const get = useElastic();

const BROKEN = { failures: { 'error-state': 1 } };

/** Two providers. The preferred one has a cloud of its own where all instances fail at first. */
async function twoClouds(): Promise<{ broken: FakeCloudProcess; made: Set<string>; setup: ElasticSetup }> {
  const broken = await FakeCloudProcess.start(join(get().cloud.dir, '..', 'broken'));
  onTestFinished(() => broken.stop());
  const made = new Set<string>();
  broken.onChange(({ id }) => made.add(id));
  const preferred = {
    name: 'cloud-broken',
    pools: [{ labels: ['small'] }],
    cloudSettings: { ...BROKEN, 'state-dir': broken.dir },
    more: { priority: 10, 'launch-retries': 3 },
  };
  const other = { name: 'cloud-steady', pools: [{ labels: ['small'] }], more: { priority: 20 } };
  return { broken, made, setup: { providers: [preferred, other] } };
}

/** Value of `paused` in the registration of each pool; other pools do not leave requests to a paused one. */
async function pausedPools(): Promise<unknown[]> {
  const { zk } = get();
  const root = '/nodepool/components/pool';
  const bodies = (await zk.getChildren(root)).map(async (id) => parseBody((await zk.getData(`${root}/${id}`)).data));
  return (await Promise.all(bodies)).map((body) => (body as Record<string, unknown>)['paused']);
}

it('requests move from a provider whose launches fail to another, and return when it recovers', async () => {
  const { broken, made, setup } = await twoClouds();
  const zuul = await get().newClient();
  const launcher = await get().launch(setup);
  const madeAfter: number[] = [];
  const providers: unknown[] = [];
  const serve = async () => {
    const nodes = await zuul.getNodes(['small']);
    providers.push(...nodes.map(({ body }) => body.provider));
    madeAfter.push(made.size);
    await zuul.giveBack(nodes);
  };

  for (let i = 0; i < 3; i++) await serve();
  const health = await launcher.getJson('/healthz');

  expect(madeAfter).toEqual([1, 2, 3]);
  expect(providers).toEqual(['cloud-steady', 'cloud-steady', 'cloud-steady']);
  expect(health).toMatchObject({ failing_launches: [{ provider: 'cloud-broken', failures: 3 }] });

  // the cloud recovers: a probe notices, and the preferred provider serves again
  await broken.set('failures.error-state', 0);
  const deadline = Date.now() + 90_000;
  while (!providers.includes('cloud-broken') && Date.now() < deadline) await serve();
  await expect.poll(pausedPools).toEqual([false, false]);
  await serve();

  expect(providers.slice(-2)).toEqual(['cloud-broken', 'cloud-broken']);
  expect(await launcher.getJson('/healthz')).toMatchObject({ failing_launches: [] });
  await broken.until((instances) => instances.length === 0);
});

it('without steering a failed launch is repeated at the same provider up to launch-retries', async () => {
  const { broken, made, setup } = await twoClouds();
  const zuul = await get().newClient();
  await get().launch({ ...setup, more: { steering: false } });

  const nodes = await zuul.getNodes(['small']);

  expect(nodes[0]?.body.provider).toBe('cloud-steady'); // it accepts the request after all attempts at the other have failed
  expect(made.size).toBe(3);
  await zuul.giveBack(nodes);
  await broken.until((instances) => instances.length === 0);
});
