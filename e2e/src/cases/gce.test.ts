import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { FailureKind } from '@nodepool/fake-compute';
import { gceSetup } from '../gce-harness.js';
import type { LauncherProcess } from '../launcher-process.js';
import { useGce } from '../use-harness.js';

const NODES = 300;
/** Instances without a record are deleted when two sweeps, a minute apart, have seen them. */
const LEAKS_FOUND_MS = 150_000;

const get = useGce({ tickMs: 200, minSessionTimeoutMs: 1_000 });

const CHAOS: readonly [FailureKind, number][] = [
  ['unavailable', 0.03],
  ['rate-limited', 0.01],
  ['lost-reply', 0.05],
  ['error-state', 0.03],
  ['operation-error', 0.03],
];

it('serves 300 requests at once although calls and machines fail, and leaves nothing', async () => {
  const { fake } = get().cloud;
  await get().launch(gceSetup({ provider: { 'launch-retries': 10 } }));
  for (const [kind, rate] of CHAOS) fake.failures.setRate(kind, rate);
  fake.cloud.exhausted.add('us-central1-a/e2-standard-2');
  const zuul = await get().newClient();

  const ids = await Promise.all(Array.from({ length: NODES }, () => zuul.submit(['debian'])));
  const taken = (await Promise.all(ids.map((id) => zuul.take(id, 120_000)))).flat();

  const instances = new Map(fake.instances.map((one) => [one.name, one]));
  expect(new Set(taken.map(({ body }) => body.external_id)).size).toBe(NODES);
  for (const { body } of taken) {
    expect(instances.get(String(body.external_id))?.status).toBe('RUNNING');
    expect(body.az).not.toBe('us-central1-a');
    expect(body).toMatchObject({ cloud: 'Google', region: 'us-central1', username: 'zuul' });
  }
  expect([...instances.keys()].filter((name) => !taken.some(({ body }) => body.external_id === name))).toEqual([]);
  await Promise.all(taken.map((node) => zuul.giveBack([node])));
  // the boot disk of a failed instance whose deletion fails too is a leak once its node is gone
  await get().assertClean(LEAKS_FOUND_MS);
});

it.each([
  ['an instance is ordered', 'Instances.Insert'],
  ['an order is answered', 'ZoneOperations.Wait'],
  ['an instance is deleted', 'Instances.Delete'],
] as const)('a launcher killed with SIGKILL while %s leaves nothing', { timeout: 400_000 }, async (_what, method) => {
  const { fake } = get().cloud;
  const setup = gceSetup({ more: { 'zookeeper-timeout': 1.5 } });
  const victim = await get().launch(setup, { name: 'victim' });
  const zuul = await get().newClient();
  let successor: Promise<LauncherProcess> | undefined;
  fake.onCall = ({ method: called }) => {
    if (called.name === method) successor ??= victim.kill().then(() => get().launch(setup, { name: 'successor' }));
  };

  await zuul.finish(await zuul.submit(['debian', 'debian', 'debian']), 60_000);
  while (!successor) await delay(20);
  await successor;

  await get().assertClean(LEAKS_FOUND_MS);
  expect(victim.isRunning).toBe(false);
  expect(fake.countOf('Instances.Insert')).toBeGreaterThan(2);
});

it('leaves requests to another provider when a region is out of stock', async () => {
  const { fake } = get().cloud;
  for (const zone of ['a', 'b', 'f']) fake.cloud.exhausted.add(`us-central1-${zone}/e2-standard-2`);
  const second = { region: 'europe-west1', priority: 200 };
  await get().launch(gceSetup({ provider: { priority: 100 }, second }));
  const zuul = await get().newClient();

  const [first] = await zuul.getNodes(['debian']);
  const orders = fake.countOf('Instances.Insert');
  const [next] = await zuul.getNodes(['debian']);

  expect([first?.body.az, next?.body.az]).toEqual(['europe-west1-b', 'europe-west1-b']);
  expect([orders, fake.countOf('Instances.Insert')]).toEqual([4, 5]);
  await zuul.giveBack([first, next].filter((node) => node !== undefined));
});

it('says in the log what is wrong with the project, and serves when it is put right', async () => {
  const launcher = await get().launch(gceSetup({ provider: { project: 'another-project' } }));
  await launcher.whenLogged(/another-project.*Required permission/);

  await get().reconfigure(launcher, gceSetup());
  const zuul = await get().newClient();

  await zuul.finish(await zuul.submit(['debian']));
});
