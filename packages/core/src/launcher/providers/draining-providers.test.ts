import { encodeNode, nodePath, withNode } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { Launcher } from '../index.js';
import { pooledConfig, RackWorld, rackConfig } from '../../../test/support/rack-world.js';

const MINUTES_MS = 130_000;
const withoutRack = { ...rackConfig, providers: new Map() };

const statesOf = (launcher: Launcher) => [...launcher.nodes.values()].map(({ state }) => state);

describe('a provider that leaves the configuration', () => {
  it('deletes what is given back, free nodes after a minute, and ends with the last one', async () => {
    const world = new RackWorld();
    await world.createNodes([{ state: 'ready' }, { state: 'hold' }]);
    const launcher = await world.startLauncher();

    await world.clock.run(launcher.reconfigure(withoutRack));
    await world.settle();
    const atFirst = statesOf(launcher);
    const [draining] = launcher.drainingProviders;
    await world.settle(MINUTES_MS / 20);
    const later = statesOf(launcher);
    const [held] = [...launcher.nodes.values()];
    if (!held) throw new Error('the held node is gone');
    const used = withNode(held, { state: 'used' }, world.clock.now());
    await world.clock.run(world.zk.setData(nodePath(held.id), encodeNode(used)));
    await world.settle();

    expect(atFirst).toEqual(['ready', 'hold']);
    expect(draining).toMatchObject({ provider: 'rack', nodes: 2 });
    expect(later).toEqual(['hold']);
    expect(statesOf(launcher)).toEqual([]);
    expect(launcher.drainingProviders).toEqual([]);
  });

  it('leaves its free nodes to another launcher that has it', async () => {
    const world = new RackWorld();
    await world.createNodes([{ state: 'ready' }]);
    const launcher = await world.startLauncher(pooledConfig);
    await world.startLauncher(pooledConfig);

    await world.clock.run(launcher.reconfigure(withoutRack));
    await world.settle(MINUTES_MS / 20);

    expect(statesOf(launcher)).toEqual(['ready']);
    expect(launcher.drainingProviders).toEqual([]);
  });

  it('is in force again, with its nodes, when it comes back', async () => {
    const world = new RackWorld();
    await world.createNodes([{ state: 'ready' }]);
    const launcher = await world.startLauncher();

    await world.clock.run(launcher.reconfigure(withoutRack));
    await world.clock.run(launcher.reconfigure(rackConfig));
    await world.settle(MINUTES_MS / 20);

    expect(statesOf(launcher)).toEqual(['ready']);
    expect(launcher.drainingProviders).toEqual([]);
  });

  it('does not hold up the end of the launcher', async () => {
    const world = new RackWorld();
    await world.createNodes([{ state: 'hold' }]);
    const launcher = await world.startLauncher();
    await world.clock.run(launcher.reconfigure(withoutRack));
    const startMs = world.clock.now();

    await world.clock.run(launcher.drain(60_000));

    expect(world.clock.now() - startMs).toBeLessThan(60_000);
    expect(statesOf(launcher)).toEqual(['hold']);
  });
});
