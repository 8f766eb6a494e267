import { beforeEach, describe, expect, it } from 'vitest';
import { rackConfig, RackWorld } from '../../../test/support/rack-world.js';

let world: RackWorld;
beforeEach(() => (world = new RackWorld()));

describe('a provider', () => {
  it('is drained while it has nodes, and no condition says to erase it', async () => {
    await world.createNodes([{ state: 'hold' }, { state: 'ready', allocatedTo: '200-1' as never }]);
    const launcher = await world.startLauncher();

    await world.clock.run(launcher.reconfigure({ ...rackConfig, providers: new Map() }));
    await world.settle();
    const [draining, ...others] = launcher.conditions.find();
    const all = JSON.stringify(draining);

    expect(draining).toMatchObject({ kind: 'provider', name: 'rack', type: 'Draining', severity: 'warning' });
    expect(draining?.message).toContain('2 nodes (0000000000 hold, 0000000001 ready) left');
    expect(all).not.toContain('erase');
    expect(others).toEqual([]);
  });

  it('that no launcher has is reported with its nodes', async () => {
    await world.createNodes([{ provider: 'gone', state: 'in-use' }]);
    const launcher = await world.startLauncher();

    const [found] = launcher.conditions.find();

    expect(found).toMatchObject({ kind: 'provider', name: 'gone', type: 'NodesWithoutProvider' });
    expect(found?.message).toContain('1 node (0000000000 in-use)');
  });

  it('that is unknown is quoted in the command to run, as any program can write it into a record', async () => {
    await world.createNodes([{ provider: 'x; id', state: 'hold' }]);
    const launcher = await world.startLauncher();

    expect(launcher.conditions.find()[0]?.nextStep).toMatch(/; nodepool info 'x; id'$/);
  });
});
