import {
  componentCreatePath,
  COMPONENTS_ROOT,
  createComponentCache,
  encodeComponent,
  newBuild,
  newComponent,
  type ImageEntry,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import type { Config } from '../../contract/config.js';
import { MissingBuilder } from './missing-builder.js';

const MINUTE_MS = 60_000;

const imagesOf = (...images: { abstract?: boolean; pause?: boolean }[]) =>
  ({
    diskimages: new Map(
      images.map((image, n) => [`i${n}`, { name: `i${n}`, abstract: false, pause: false, ...image }]),
    ),
  }) as unknown as Config;

async function setUp() {
  const world = await ServiceWorld.open();
  const { clock, other, context } = world;
  await clock.run(other.ensurePath(`${COMPONENTS_ROOT}/builder`));
  const components = createComponentCache(context);
  const stored = new Map<string, ImageEntry>();
  const builders = new MissingBuilder(context, components, { ready: true, images: stored });
  await clock.run(components.start());
  const ready = newBuild({ image: 'i0', id: '1' }, { state: 'ready' }, 0);
  const setImage = (changes: Partial<ImageEntry> = {}) => {
    const entry = { name: 'i0', paused: false, buildRequestedMs: undefined, uploads: new Map<string, never>() };
    stored.set('i0', { ...entry, builds: new Map([['1', ready]]), ...changes });
  };
  setImage();
  return {
    world,
    setImage,
    look: (config = imagesOf({})) => {
      context.config.now = config;
      return builders.conditions().map(({ type, name, severity }) => `${severity} ${type} ${name}`);
    },
    builders,
    register: async () => {
      const body = encodeComponent(newComponent({ kind: 'builder', hostname: 'nb01', state: 'stopped', version: '1' }));
      const path = componentCreatePath('builder', 'nb01');
      const made = await clock.run(other.create(path, body, { sequential: true }));
      await world.pass(100);
      return made;
    },
    remove: async (path: string) => {
      await clock.run(other.delete(path));
      await world.pass(100);
    },
  };
}

// Ends: NoBuilder NotRegistered
it('tells of a missing builder after five minutes, until one is started, be it of the original', async () => {
  const { world, look, builders, register } = await setUp();
  const startMs = world.clock.now();
  const atOnce = look();
  await world.pass(4 * MINUTE_MS);
  const patient = look();
  await world.pass(MINUTE_MS);
  const late = look();
  const [condition] = builders.conditions();
  await register();

  expect([atOnce, patient, late, look()]).toEqual([[], [], ['warning NoBuilder any'], []]);
  expect(condition?.sinceMs).toBe(startMs);
  expect(condition?.nextStep).toMatch(/^start nodepool-builder/);
});

it('tells of a missing builder at once while an image awaits a build', async () => {
  const { look, setImage, register } = await setUp();
  const told = [{}, { buildRequestedMs: 5 }, { builds: new Map() }, { builds: new Map(), paused: true }].map(
    (entry) => {
      setImage(entry);
      return look();
    },
  );
  setImage({ buildRequestedMs: 5 });
  await register();

  expect(told).toEqual([[], ['warning NoBuilder any'], ['warning NoBuilder any'], []]);
  expect(look()).toEqual([]);
});

it('keeps silent while builders restart', async () => {
  const { world, look, register, remove } = await setUp();
  const told: string[] = [];
  for (let restart = 0; restart < 5; restart++) {
    const path = await register();
    told.push(...look());
    await remove(path);
    told.push(...look());
    await world.pass(4 * MINUTE_MS);
    told.push(...look());
  }

  expect(told).toEqual([]);
});

it('does not miss a builder where no image is built', async () => {
  const { world, look } = await setUp();
  const configs = [imagesOf(), imagesOf({ abstract: true }, { pause: true })];
  const told = () => configs.flatMap((config) => look(config));
  const before = told();
  await world.pass(10 * MINUTE_MS);

  expect([before, told()]).toEqual([[], []]);
  expect(look(), 'the first image is configured').toEqual([]);
});
