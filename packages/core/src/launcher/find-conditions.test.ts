import { beforeEach, describe, expect, it } from 'vitest';
import { labelled, told } from '../../test/support/conditions.js';
import { pooledConfig, rackConfig, RackWorld } from '../../test/support/rack-world.js';
import { ConditionList } from '../conditions/condition-list.js';
import type { DiskimageConfig } from '../contract/config.js';

const MINUTE_MS = 60_000;

let world: RackWorld;
beforeEach(() => (world = new RackWorld()));

describe('a launcher with which nothing is wrong', () => {
  it('has no condition', async () => {
    await world.createNodes([{}]);
    const launcher = await world.startLauncher(labelled());

    expect(launcher.conditions.find()).toEqual([]);
  });

  it('has none before it has started', () => {
    expect(world.launcher(labelled()).conditions.find()).toEqual([]);
  });
});

it('a launcher with images to build misses a builder', async () => {
  const image = { name: 'debian', abstract: false, pause: false, rebuildAgeMs: MINUTE_MS } as DiskimageConfig;
  const launcher = await world.startLauncher({ ...pooledConfig, diskimages: new Map([['debian', image]]) });

  expect(told(launcher)).toEqual(['builder any NoBuilder NotRegistered', 'image debian NoReadyBuild NeverBuilt']);
});

describe('conditions of several launchers', () => {
  it('are published, and read by the others', async () => {
    await world.createNodes([{ provider: 'gone', state: 'in-use' }]);
    const first = await world.startLauncher();
    const second = await world.startLauncher();
    const list = new ConditionList();
    list.update(first.conditions.find(), world.clock.now());

    first.conditions.publish(list.all);
    await world.settle();

    expect(first.conditions.ofOthers.flatMap(({ conditions }) => conditions)).toEqual([]);
    expect(second.conditions.ofOthers).toContainEqual({ service: 'launcher nl01', conditions: list.all });
  });

  it('say nothing of nodes whose provider another launcher drains', async () => {
    await world.createNodes([{ state: 'hold' }]);
    const first = await world.startLauncher();
    const without = { ...rackConfig, providers: new Map() };
    await world.clock.run(first.reconfigure(without));
    await world.settle();
    const list = new ConditionList();
    list.update(first.conditions.find(), world.clock.now());
    first.conditions.publish(list.all);

    const second = await world.startLauncher(without);

    expect(told(second)).toEqual([]);
  });
});
