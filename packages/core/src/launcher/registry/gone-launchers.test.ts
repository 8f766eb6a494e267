import {
  componentCreatePath,
  COMPONENTS_ROOT,
  createComponentCache,
  encodeComponent,
  newComponent,
  type ComponentRecord,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { announceStop, GoneLaunchers } from './gone-launchers.js';

const MINUTE_MS = 60_000;
const nl02 = {
  ...newComponent({ kind: 'launcher', hostname: 'nl02', state: 'running', version: '1' }),
  webUrl: 'http://nl02:8005',
};

async function setUp() {
  const world = await ServiceWorld.open();
  const { clock, other, context } = world;
  await clock.run(other.ensurePath(`${COMPONENTS_ROOT}/launcher`));
  const components = createComponentCache(context);
  const gone = new GoneLaunchers(context, components);
  await clock.run(components.start());
  return {
    world,
    told: () => gone.conditions().map(({ type, name, severity }) => `${severity} ${type} ${name}`),
    gone,
    register: async (component: ComponentRecord) => {
      const path = componentCreatePath('launcher', component.hostname);
      const made = await clock.run(other.create(path, encodeComponent(component), { sequential: true }));
      await world.pass(100);
      return made;
    },
    write: async (path: string, component: ComponentRecord) => {
      await clock.run(other.setData(path, encodeComponent(component)));
      await world.pass(100);
    },
    remove: async (path: string) => {
      await clock.run(other.delete(path));
      await world.pass(100);
    },
  };
}

it('tells for an hour of a launcher that left without a stop', async () => {
  const { world, told, gone, register, remove } = await setUp();
  const path = await register(nl02);
  const leftMs = world.clock.now();
  await remove(path);

  const atOnce = told();
  await world.pass(MINUTE_MS);
  const [condition] = gone.conditions();
  await world.pass(57 * MINUTE_MS);
  const later = told();
  await world.pass(3 * MINUTE_MS);

  expect([atOnce, later, told()]).toEqual([[], ['warning LauncherGone nl02:8005'], []]);
  expect(condition?.sinceMs).toBeGreaterThanOrEqual(leftMs);
  expect(condition?.nextStep).toMatch(
    /^on nl02: if its process is still there .*kill -CONT PID .*if it is gone, start the launcher/,
  );
});

// Ends: LauncherGone NotStopped
it('tells no longer once it has returned, and not of one that registers again in a new session', async () => {
  const { world, told, register, remove } = await setUp();
  const path = await register(nl02);
  await remove(path);
  await world.pass(MINUTE_MS);
  const away = told();
  const again = await register(nl02);
  const back = told();
  await remove(again);
  await register(nl02);
  await world.pass(MINUTE_MS);

  expect([away, back, told()]).toEqual([['warning LauncherGone nl02:8005'], [], []]);
});

it('knows which of two launchers of a host has returned', async () => {
  const { world, told, register, remove } = await setUp();
  const path = await register(nl02);
  await register({ ...nl02, webUrl: 'http://nl02:8006' });
  await remove(path);
  await world.pass(MINUTE_MS);

  expect(told()).toEqual(['warning LauncherGone nl02:8005']);
});

it('tells apart two launchers of a host that are gone', async () => {
  const { world, told, register, remove } = await setUp();
  const paths = [await register(nl02), await register({ ...nl02, webUrl: 'http://nl02:8006' })];
  for (const path of paths) await remove(path);
  await world.pass(MINUTE_MS);

  expect(told()).toEqual(['warning LauncherGone nl02:8005', 'warning LauncherGone nl02:8006']);
});

it('is silent about a stop, launchers that were starting, those of the original, and other services', async () => {
  const { world, told, register, write, remove } = await setUp();
  const stopped = await register(nl02);
  let body: ComponentRecord = nl02;
  announceStop({ body, update: (next) => (body = next) });
  await write(stopped, body);
  const others = [
    await register({ ...nl02, state: 'stopped' }),
    await register({ ...nl02, hostname: 'original', webUrl: undefined }),
    await register({ ...nl02, kind: 'builder', hostname: 'nb01' }),
  ];
  for (const path of [stopped, ...others]) await remove(path);
  await world.pass(MINUTE_MS);

  expect(told()).toEqual([]);
});

it('keeps a hundred of them', async () => {
  const { world, told, register, remove } = await setUp();
  for (let i = 0; i < 102; i++) await remove(await register({ ...nl02, hostname: `pod-${i}` }));
  await world.pass(MINUTE_MS);

  expect(told()).toHaveLength(100);
  expect(told()[0]).toBe('warning LauncherGone pod-2:8005');
});
