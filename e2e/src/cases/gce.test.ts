import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { FailureKind } from '@nodepool/fake-compute';
import { gceSetup } from '../gce-harness.js';
import { children } from '../inventory.js';
import type { LauncherProcess } from '../launcher-process.js';
import { useGce } from '../use-harness.js';

const NODES = 300;
/** An instance without a record is deleted after two sweeps, a minute apart, have seen it. */
const LEAKS_FOUND_MS = 150_000;

const get = useGce({ tickMs: 200, minSessionTimeoutMs: 1_000 });

const CHAOS: readonly [FailureKind, number][] = [
  ['unavailable', 0.03],
  ['rate-limited', 0.01],
  ['lost-reply', 0.05],
  ['error-state', 0.03],
  ['operation-error', 0.03],
];

it('300 simultaneous requests are served although calls and instances fail, and no resource is leaked', async () => {
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
  await expect.poll(() => children(get().zk, '/nodepool/nodes'), { timeout: 60_000 }).toEqual([]);
  // If deleting a failed instance failed too, its boot disk became a leak when its node went. A failed call costs the search a
  // whole sweep, so two are enough only in a cloud that has recovered.
  for (const [kind] of CHAOS) fake.failures.setRate(kind, 0);
  await get().assertClean(LEAKS_FOUND_MS);
});

it.each([
  ['inserting an instance', 'Instances.Insert'],
  ['waiting for the insertion', 'ZoneOperations.Wait'],
  ['deleting an instance', 'Instances.Delete'],
] as const)(
  'a launcher killed with SIGKILL while %s leaks no resource',
  { timeout: 400_000 },
  async (_what, method) => {
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
  },
);

it('requests move to another provider when a region is out of capacity', async () => {
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

it('the log names the missing permission of a wrong project, and requests are served once it is corrected', async () => {
  const launcher = await get().launch(gceSetup({ provider: { project: 'another-project' } }));
  await launcher.whenLogged(/another-project.*Required permission/);

  await get().reconfigure(launcher, gceSetup());
  const zuul = await get().newClient();

  await zuul.finish(await zuul.submit(['debian']));
});
