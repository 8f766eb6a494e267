import { DATABASE_ID_TAG, NODE_ID_TAG } from '@nodepool/core';
import { FakeCloud } from '@nodepool/driver-fake';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { World } from '../world/world.js';
import { CloudChecks } from './cloud-checks.js';

let world: World;
let fake: FakeCloud;
let checks: CloudChecks;

beforeEach(() => {
  world = new World(1, false);
  world.checker.databaseId = 'ours';
  fake = new FakeCloud({ clock: world.clock, random: world.random.next });
  checks = new CloudChecks(world, { name: 'cloud1', fake, isHonest: true }, []);
});

afterEach(() => world.restore());

/** A machine whose node is in this state. @returns its id */
function machineOf(state: string, allocatedTo: string | null = null): string {
  const { id } = fake.leak({ metadata: { [NODE_ID_TAG]: '1', [DATABASE_ID_TAG]: 'ours' } });
  const node = { id: '1', body: { external_id: id }, labels: ['small'], touched: false };
  world.checker.nodes.set('1', { ...node, state, allocatedTo });
  return id;
}

const told = () => world.violations.map(({ message }) => message);

it.each(['ready', 'in-use', 'hold'])('reports a machine that is stopped while its node is %s', (state) => {
  const id = machineOf(state);

  checks.stop(id);

  expect(told()).toEqual([`cloud1: ${id} is stopped, the ${state} machine of node 1`]);
});

it.each(['in-use', 'hold'])('reports a machine that is deleted while its node is %s', (state) => {
  const id = machineOf(state);

  checks.removal(id);

  expect(told()).toEqual([`cloud1: ${id} is deleted, the ${state} machine of node 1`]);
});

it('accepts that a spare is stopped, and that a free machine is deleted', () => {
  checks.stop(machineOf('testing'));
  checks.removal(machineOf('ready'));

  expect(told()).toEqual([]);
});

it('reports two machines of one node, unless an order came after its caller had given up', () => {
  const first = fake.get(machineOf('building'));
  const second = fake.get(machineOf('building'));

  if (second) checks.onlyOne(second);
  checks.excuse('1');
  if (first) checks.onlyOne(first);

  expect(told()).toHaveLength(1);
});

it.each([
  ['the lease that had it', 'l1', false],
  ['another lease', 'l2', true],
])('takes a machine that is lent to %s, as in an older copy, for lent again: %s', (_whom, lease, isWrong) => {
  const id = machineOf('ready');
  const before = world.checker.nodes.get('1');
  const lend = (to: string) =>
    before &&
    checks.nodeChanged(before, { ...before, state: 'hold', body: { ...before.body, user_data: { lease: to } } });

  lend('l1');
  lend(lease);

  expect(told()).toEqual(isWrong ? [`cloud1: ${id} of node 1 is lent again`] : []);
});
