import { newNode, encodeNode, type NodeRecord } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Limit } from './limit.js';
import { checkMaxServers, checkTenantLimit } from './limit-checks.js';
import { SimulatedProcess } from './process.js';
import { World } from './world.js';

let world: World;
let launcher: SimulatedProcess;

beforeEach(() => {
  world = new World(1, false);
  world.launcherCount = 1;
  launcher = new SimulatedProcess(world, 'launcher1', world.server);
});

afterEach(() => world.restore());

/** Writes the record of a new node. @returns violations so far */
async function makeNode(changes: Partial<NodeRecord> = {}): Promise<string[]> {
  const base = { state: 'building', labels: ['small'], provider: 'cloud', pool: 'main' } as const;
  const record = encodeNode({ ...newNode(base, world.clock.now()), ...changes });
  const { zk } = launcher;
  const made = zk.ensurePath('/nodepool/nodes').then(() => zk.create('/nodepool/nodes/', record, { sequential: true }));
  await world.run(1_000);
  if (world.violations.length === 0) await made;
  return world.violations.map(({ message }) => message);
}

describe('the check of max-servers', () => {
  it('finds one node too many', async () => {
    checkMaxServers(world, 'cloud', () => ({ maxServers: new Limit(2) }));
    await makeNode();
    expect(await makeNode()).toEqual([]);

    expect(await makeNode()).toEqual([expect.stringMatching(/makes node \d+ in cloud\/main, number 3 of at most 2$/)]);
  });

  it('counts neither other pools nor what the last packets of a dead process made', async () => {
    const limited = { maxServers: new Limit(1) };
    checkMaxServers(world, 'cloud', (pool) => (pool === 'main' ? limited : undefined));
    await makeNode({ pool: 'other' });
    launcher.isDead = true;
    await makeNode();
    launcher = new SimulatedProcess(world, 'launcher1', world.server);

    expect(await makeNode()).toEqual([]);
  });

  it('allows up to the greatest limit so far', async () => {
    const maxServers = new Limit(2);
    checkMaxServers(world, 'cloud', () => ({ maxServers }));
    maxServers.value = 1;
    await makeNode();

    expect(await makeNode()).toEqual([]);
  });
});

describe('the check of a tenant limit', () => {
  it('finds one node too many of that tenant', async () => {
    checkTenantLimit(world, 'acme', 1);
    await makeNode({ tenantName: 'other' });
    expect(await makeNode({ tenantName: 'acme' })).toEqual([]);

    expect(await makeNode({ tenantName: 'acme' })).toEqual([
      expect.stringMatching(/gives node \d+ to tenant acme, number 2 of at most 1$/),
    ]);
  });
});
