import { expect, it } from 'vitest';
import { nodesOf, providerOf, simpleSetup, type StaticSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const get = useStatic({ sshd: { count: 3, keyTypes: ['ed25519'] } });

const hosts = () => [get().host(0), get().host(1), get().host(2)] as const;

it('a reload registers added nodes and releases removed ones', async () => {
  const [a, b] = hosts();
  const launcher = await get().launch(simpleSetup(nodesOf([a], 'small')));
  await get().assertClean();

  await get().reconfigure(launcher, simpleSetup(nodesOf([a, b], 'small')));
  await get().assertClean();
  await get().reconfigure(launcher, simpleSetup(nodesOf([b], 'small')));
  await get().assertClean();

  expect(launcher.isRunning).toBe(true);
});

it('a reload changes labels and slots of nodes, and requests find them', async () => {
  const [a, b] = hosts();
  const launcher = await get().launch(simpleSetup(nodesOf([a, b], 'small')));
  const zuul = await get().newClient();

  await get().reconfigure(launcher, simpleSetup([{ host: a, labels: ['small'], maxParallelJobs: 3 }]));
  const id = await zuul.submit(['small', 'small', 'small']);
  const { state } = await zuul.wait(id);
  await zuul.giveBack(await zuul.accept(id));
  await get().reconfigure(launcher, simpleSetup([{ host: a, labels: ['big', 'new'], maxParallelJobs: 1 }]));
  await get().assertClean();
  const nodes = await zuul.getNodes(['new']);
  await zuul.giveBack(nodes);

  expect(state).toBe('fulfilled');
  expect(nodes.map(({ body }) => body.type)).toEqual([['big', 'new']]);
});

it('a reload adds and removes pools and providers', async () => {
  const [a, b, c] = hosts();
  const one = providerOf('static-one', nodesOf([a], 'small'));
  const twoPools = { ...one, pools: [...one.pools, { name: 'other', nodes: nodesOf([b], 'big') }] };
  const two = providerOf('static-two', nodesOf([c], 'arm'));
  const launcher = await get().launch({ providers: [one] });
  const zuul = await get().newClient();

  await get().reconfigure(launcher, { providers: [twoPools, two] });
  await get().assertClean();
  const nodes = await zuul.getNodes(['arm']);
  const big = await zuul.getNode('big');
  await zuul.giveBack([...nodes, big]);
  await get().assertClean();
  await get().reconfigure(launcher, { providers: [twoPools] });
  await forgetProvider('static-two');
  await get().assertClean();
  await get().reconfigure(launcher, { providers: [one] });

  expect(nodes.map(({ body }) => body.provider)).toEqual(['static-two']);
  expect(big.body.pool).toBe('other');
});

it('a reload does not change a removed node in use, and its record goes when it is returned', async () => {
  const [a, b] = hosts();
  const launcher = await get().launch(simpleSetup(nodesOf([a, b], 'small')));
  const zuul = await get().newClient();
  const nodes = await zuul.getNodes(['small', 'small']);

  const setup = simpleSetup(nodesOf([b], 'small'));
  await get().reconfigure(launcher, setup);
  const bodies = await Promise.all(nodes.map(({ id }) => zuul.readNode(id)));
  await zuul.giveBack(nodes);

  expect(bodies.map(({ body }) => body.state)).toEqual(['in-use', 'in-use']);
});

it('a broken configuration file is logged with its fault, and the previous configuration stays in use', async () => {
  const [a, b] = hosts();
  const setup: StaticSetup = simpleSetup(nodesOf([a], 'small'));
  const launcher = await get().launch(setup);
  const zuul = await get().newClient();

  await launcher.rewriteConfig('labels: [{name: small\nproviders: 7\n');
  await launcher.whenLogged(/is invalid[\s\S]*nodepool\.yaml:\d+/);
  const nodes = await zuul.getNodes(['small']);
  await zuul.giveBack(nodes);
  await get().assertClean();
  await get().reconfigure(launcher, simpleSetup(nodesOf([a, b], 'small')));
  await get().assertClean();
  const more = await zuul.getNodes(['small', 'small']);
  await zuul.giveBack(more);

  expect(nodes).toHaveLength(1);
  expect(more).toHaveLength(2);
});

/** Deletes the records of a provider that is no longer configured. Launchers keep them. */
async function forgetProvider(name: string): Promise<void> {
  const { zk } = get();
  for (const id of await zk.getChildren('/nodepool/nodes')) {
    const path = `/nodepool/nodes/${id}`;
    const { provider } = JSON.parse((await zk.getData(path)).data.toString()) as { provider: string };
    if (provider === name) await zk.deleteRecursive(path);
  }
}
