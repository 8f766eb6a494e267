import { DATABASE_ID_TAG, NODE_ID_TAG } from '@nodepool/core';
import { encodeNode, newNode, type NodeId, type NodeState } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedProcess } from './process.js';
import { World } from './world.js';

const DATABASE = 'a'.repeat(32);
const REQUEST = '/nodepool/requests/100-0000000000';
const NODE = '0000000000' as NodeId;

let world: World;
let launcher: SimulatedProcess;

beforeEach(async () => {
  world = new World(1, false, undefined, 'launchers');
  launcher = new SimulatedProcess(world, 'launcher1', world.server);
  world.checker.databaseId = DATABASE;
  await inZooKeeper(async ({ zk }) => {
    for (const root of ['/nodepool/nodes', '/nodepool/requests']) await zk.ensurePath(root);
    await zk.create(REQUEST, '{"state": "pending", "node_types": ["small"]}');
    await zk.create(`/nodepool/nodes/${NODE}`, body('building'));
    await zk.create(`/nodepool/nodes/${NODE}/lock`, '');
    await zk.create(`/nodepool/nodes/${NODE}/lock/1__lock__0000000000`, '', { ephemeral: true });
  });
});

afterEach(() => world.restore());

async function inZooKeeper(act: (process: SimulatedProcess) => Promise<unknown>): Promise<void> {
  const acted = act(launcher);
  await world.run(1_000);
  if (world.violations.length === 0) await acted;
}

function body(state: NodeState): Buffer {
  return encodeNode(newNode({ state, labels: ['small'], allocatedTo: '100-0000000000' as never }, world.clock.now()));
}

const become = (state: NodeState) => inZooKeeper(({ zk }) => zk.setData(`/nodepool/nodes/${NODE}`, body(state)));

function show(id: string): void {
  world.launches?.shown({ id, metadata: { [NODE_ID_TAG]: NODE, [DATABASE_ID_TAG]: DATABASE } });
}

const violations = () => world.violations.map(({ message }) => message);

describe('the tally of instances', () => {
  it('counts one instance for a node that becomes ready, however often it is shown', async () => {
    show('i-1');
    show('i-1');
    await become('ready');
    await become('deleting');

    expect(violations()).toEqual([]);
    expect(world.launches?.counts).toEqual({ made: 1, used: 1, withdrawn: 0, late: 0 });
  });

  it('finds a second instance of a node', () => {
    show('i-1');
    show('i-2');

    expect(violations()).toEqual([`node ${NODE} gets instance i-2 after i-1`]);
  });

  it('finds an instance that is thrown away', async () => {
    show('i-1');
    await become('deleting');

    expect(violations()).toEqual([expect.stringMatching(/^instance i-1 of node 0+ is thrown away: launcher1 makes/)]);
  });

  it('finds one that is deleted while its request waits for it', () => {
    show('i-1');
    world.launches?.gone('i-1');

    expect(violations()).toEqual([`instance i-1 of node ${NODE} is thrown away: it is deleted`]);
  });

  it('finds one that is made for a node which was given up', async () => {
    await become('deleting');
    show('i-1');

    expect(violations()).toEqual([expect.stringMatching(/^instance i-1 of node 0+ is thrown away/)]);
  });

  it('counts those of a withdrawn request apart', async () => {
    show('i-1');
    await inZooKeeper(({ zk }) => zk.delete(REQUEST));
    await become('deleting');

    expect(violations()).toEqual([]);
    expect(world.launches?.counts).toEqual({ made: 1, used: 0, withdrawn: 1, late: 0 });
  });

  it('allows one more for an order of a launcher that has lost the node', () => {
    world.launches?.ordered(NODE, launcher.zk.sessionId);
    show('i-1');
    world.launches?.ordered(NODE, undefined);
    show('i-2');

    expect(violations()).toEqual([]);
    expect(world.launches?.counts).toMatchObject({ made: 2, late: 2 }); // the node is not ready yet
  });
});
