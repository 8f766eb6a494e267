import { expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { useElastic } from '../use-harness.js';

const get = useElastic();
const one = { name: 'cloud-one', pools: [{ labels: ['small'] }] };
const two = { name: 'cloud-two', pools: [{ labels: ['big'] }] };

it('a reload adds a provider to a running launcher and drains a removed one', async () => {
  const zuul = await get().newClient();
  const launcher = await get().launch({ providers: [one] });

  await get().reconfigure(launcher, { providers: [one, two] });
  const big = await zuul.getNodes(['big']);
  await get().reconfigure(launcher, { providers: [one] });
  const refused = await zuul.submit(['big']);
  const { state } = await zuul.wait(refused);
  await zuul.cancel(refused);
  const small = await zuul.getNodes(['small']);
  await zuul.giveBack([...big, ...small]);
  await get().cloud.until((instances) => instances.length === 0);

  expect(big[0]?.body.provider).toBe('cloud-two');
  expect(state).toBe('failed');
});

it('a launch in progress ends cleanly when its provider is removed', async () => {
  const zuul = await get().newClient();
  const slow = { ...two, cloudSettings: { 'create-time': 1 } };
  const launcher = await get().launch({ providers: [one, slow] });

  const id = await zuul.submit(['big']);
  await get().cloud.until((instances) => instances.length === 1);
  await get().reconfigure(launcher, { providers: [one] });
  const { state } = await zuul.wait(id);
  if (state === 'fulfilled') await zuul.finish(id);
  else await zuul.cancel(id);
  await get().cloud.until((instances) => instances.length === 0);

  expect(['fulfilled', 'failed']).toContain(state);
});

it('a launcher stops launching while max-servers is 0', async () => {
  const zuul = await get().newClient();
  const launcher = await get().launch(oneProvider());
  const held = await zuul.getNodes(['small']);

  await get().reconfigure(launcher, oneProvider({ maxServers: 0 }));
  const refused = await zuul.submit(['small']);
  const { state } = await zuul.wait(refused);
  await zuul.cancel(refused);
  await zuul.giveBack(held);
  await get().cloud.until((instances) => instances.length === 0);
  await get().reconfigure(launcher, oneProvider({ maxServers: 1 }));
  const nodes = await zuul.getNodes(['small']);
  await zuul.giveBack(nodes);

  expect(state).toBe('failed');
  expect(get().cloud.most).toBe(1);
});

it('a waiting request is served when max-servers is raised', async () => {
  const zuul = await get().newClient();
  const launcher = await get().launch(oneProvider({ maxServers: 1 }));
  const held = await zuul.getNodes(['small']);
  const waiting = await zuul.submit(['small']);
  await zuul.waitForRequest(waiting, ({ state }) => state === 'pending');

  await get().reconfigure(launcher, oneProvider({ maxServers: 2 }));
  const nodes = await zuul.take(waiting);
  await zuul.giveBack([...held, ...nodes]);

  expect(nodes).toHaveLength(1);
});
