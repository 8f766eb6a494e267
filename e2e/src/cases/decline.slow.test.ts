import { expect, it } from 'vitest';
import { nodesOf, providerOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const get = useStatic({ sshd: { count: 2, keyTypes: ['ed25519'] } });

interface Offer {
  label: string;
  priority?: number;
}

/** Starts a launcher with the providers `static-one` and `static-two`, one host each, and waits until both hosts are ready. */
async function launchTwo(one: Offer, two: Offer): Promise<void> {
  await get().launch({
    providers: [
      providerOf('static-one', nodesOf([get().host(0)], one.label), one.priority),
      providerOf('static-two', nodesOf([get().host(1)], two.label), two.priority),
    ],
  });
  await get().assertClean();
}

it('a request for an unknown label fails and lists the pools that declined it', async () => {
  await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small'), { extraLabels: ['huge'] }));
  const zuul = await get().newClient();

  const id = await zuul.submit(['huge']);
  const request = await zuul.wait(id);
  await zuul.cancel(id);

  expect(request.state).toBe('failed');
  expect(request.declined_by).toHaveLength(1);
  expect(request.declined_by?.[0]).toMatch(/-PoolWorker\.static-one-main-[0-9a-f]{32}$/);
  expect(request.nodes ?? []).toEqual([]);
});

it('a request fails if it needs more nodes of a label than its pool can ever have', async () => {
  await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')));
  const zuul = await get().newClient();
  await get().assertClean();

  const id = await zuul.submit(['small', 'small', 'small']);
  const { state } = await zuul.wait(id);
  await zuul.cancel(id);

  expect(state).toBe('failed');
});

it('a request for two labels of different pools fails after all pools have declined it', async () => {
  await launchTwo({ label: 'small' }, { label: 'big' });
  const zuul = await get().newClient();

  const id = await zuul.submit(['small', 'big']);
  const request = await zuul.wait(id);
  await zuul.cancel(id);

  expect(request.state).toBe('failed');
  expect(request.declined_by).toHaveLength(2);
});

it('a request is served by the pool that has its label', async () => {
  await launchTwo({ label: 'small' }, { label: 'big' });
  const zuul = await get().newClient();

  const id = await zuul.submit(['big']);
  const request = await zuul.wait(id);
  const nodes = await zuul.accept(id);
  await zuul.giveBack(nodes);

  expect(request).toMatchObject({ state: 'fulfilled', declined_by: [] });
  expect(nodes.map(({ body }) => body.provider)).toEqual(['static-two']);
});

it('a request that names a provider is served by it as long as it exists', async () => {
  await launchTwo({ label: 'small' }, { label: 'small' });
  const zuul = await get().newClient();

  const named = await zuul.getNodes(['small'], { provider: 'static-two' });
  const unknown = await zuul.getNodes(['small'], { provider: 'gone' });
  await zuul.giveBack([...named, ...unknown]);

  expect(named.map(({ body }) => body.provider)).toEqual(['static-two']);
  expect(unknown.map(({ body }) => body.provider)).toEqual(['static-one']);
});

it('the pool with the smaller priority number is preferred', async () => {
  await launchTwo({ label: 'small', priority: 200 }, { label: 'small', priority: 50 });
  const zuul = await get().newClient();

  const nodes = await zuul.getNodes(['small']);
  await zuul.giveBack(nodes);

  expect(nodes.map(({ body }) => body.provider)).toEqual(['static-two']);
});
