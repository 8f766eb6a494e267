import { describe, expect, it } from 'vitest';
import { configOf } from '../../../test/support/serving-config.js';
import { ID, NEED, openLedger, STORED } from '../../../test/support/open-ledger.js';
import { poolConfig } from '../../../test/support/pool-config.js';

describe('what a pool and its provider use', () => {
  it('has nodes in it of pools and labels that have left the configuration', async () => {
    const { world, used } = await openLedger();
    await world.createNode({ resources: STORED });
    await world.createNode({ resources: STORED, labels: ['removed'] });
    await world.createNode({ resources: STORED, pool: 'removed' });
    await world.createNode({ resources: STORED, provider: 'q' });

    const ofTwo = { ...NEED, instances: 2, cores: 8 };
    expect(used()).toEqual([{ ...ofTwo, instances: 3, cores: 12 }, ofTwo]);
  });

  it('has a node in it until it is gone', async () => {
    const { world, used, remove } = await openLedger();
    const node = await world.createNode({ resources: STORED });
    await remove(node);

    expect(used()).toEqual([
      { instances: 0, cores: 0 },
      { instances: 0, cores: 0 },
    ]);
  });

  it('has ports in it by labels, as records do not hold them, no matter which launcher made the nodes', async () => {
    const { world, used } = await openLedger();
    await world.createNode({ resources: STORED });
    await world.createNode({ resources: { ...STORED, ports: 1 } }); // of an older version
    await world.createNode({ resources: STORED, pool: 'other' });

    expect(used()).toEqual([
      { instances: 3, cores: 12, ports: 9 },
      { instances: 2, cores: 8, ports: 6 },
    ]);
  });

  it('has ports in it of nodes that were there before the need of their label was known', async () => {
    const { world, used, need } = await openLedger();
    need.now = { ...NEED, ports: 0 };
    await world.createNode({ resources: STORED });
    need.now = NEED;

    expect(used()).toEqual([NEED, NEED]);
  });

  it('has nodes in it that say nothing of their resources, as their label needs in their pool', async () => {
    const { world, used, need, remove } = await openLedger();
    const node = await world.createNode({ resources: null });
    expect(used()).toEqual([NEED, NEED]);

    need.now = { ...NEED, cores: 8 };
    await remove(node);

    expect(used()).toMatchObject([{ instances: 0, cores: 0 }, {}]); // as much as was counted
  });
});

describe('a launch', () => {
  it('uses capacity of its pool from the decision on, and only once when its node has a record', async () => {
    const { used, begin, launch, create, told } = await openLedger();
    begin('a');
    expect(used()).toEqual([{}, {}]);

    launch();
    expect(used()).toEqual([NEED, NEED]);

    await create();
    expect(used()).toEqual([NEED, NEED]);
    expect(told()).toEqual([]);
  });

  it('uses capacity until it has ended when its node gets no record', async () => {
    const { used, begin, launch, end, told, ledger } = await openLedger();
    begin('a');
    const begun = launch('a', 'other');
    expect(used()).toEqual([NEED, {}]);

    end(begun);

    expect(used()[0]).toEqual({ instances: 0, cores: 0 });
    expect(told()).toEqual(['label a']);
    expect(ledger.usedByTenant('t'), 'it is to be launched again').toEqual(STORED);
  });

  it('is in progress until it has ended, also through a reload', async () => {
    const { rooms, ledger, begin, launch, create, end, used } = await openLedger();
    begin('a');
    const begun = launch();
    await create();

    await rooms.configure(configOf(poolConfig('main', ['a'], { maxServers: 3 })));

    expect(ledger.activeLaunches('p')).toBe(1);
    expect(used()).toEqual([NEED, NEED]);
    end(begun);
    expect(ledger.activeLaunches('p')).toBe(0);
    expect(used()).toEqual([NEED, NEED]);
  });

  it('keeps what it uses when the request gets a ready node beside it', async () => {
    const { world, used, begin, launch, create, change } = await openLedger();
    const ready = await world.createNode({ resources: STORED });
    begin('a', 'a');
    launch();

    await change(ready, { allocatedTo: ID, tenantName: 't' });
    expect(used()[0]).toEqual({ instances: 2, cores: 8, ports: 6 });

    await create();
    expect(used()[0]).toEqual({ instances: 2, cores: 8, ports: 6 });
  });

  it('counts for its label and for that of its record, but once', async () => {
    const { ledger, begin, launch, create } = await openLedger();
    const ofA = () => ledger.countNodes(({ label }) => label === 'a');
    begin('a');
    const before = ofA();
    launch();
    const begun = ofA();
    await create({ labels: ['b', 'a'] });

    expect([before, begun, ofA()]).toEqual([0, 1, 1]);
    expect(ledger.countNodes(({ label, pool }) => label === 'b' && pool === 'main')).toBe(1);
  });
});

it('a launch of a second pool counts by what it needs there, and is promised to the tenant once', async () => {
  const { ledger, begin, launch, end, create, need, used } = await openLedger();
  begin('a');
  const first = launch();
  need.now = { instances: 1, cores: 16, ports: 0 };
  begin('a');
  const second = launch('a', 'other');
  const both = [used()[0], ledger.usedByTenant('t')];
  end(first);
  end(second);

  expect(both[0]).toMatchObject({ instances: 2, cores: 20 });
  expect(both[1]).toEqual(STORED);
  expect(used()[0]).toMatchObject({ instances: 0, cores: 0 });

  await create();
  expect(ledger.usedByTenant('t')).toEqual(STORED);
});

it('capacity for a label is free when a node of it is gone, and not when only its state changes', async () => {
  const { world, change, remove, told } = await openLedger();
  const node = await world.createNode({ state: 'building' });
  await change(node, { state: 'ready' });
  const before = told();

  await remove(node);

  expect([before, told()]).toEqual([[], ['label a']]);
});

it('nothing is counted any more after the end', async () => {
  const { world, ledger, launch } = await openLedger();

  ledger.stop();
  launch();
  await world.createNode({ tenantName: 't' });

  expect([ledger.activeLaunches('p'), ledger.usedByTenant('t')]).toEqual([0, {}]);
});
