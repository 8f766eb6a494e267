import { describe, expect, it } from 'vitest';
import { RackWorld } from '../../../test/support/rack-world.js';

describe('a provider', () => {
  it.each([
    [{ error: undefined }, 'warning', 'NoRecord'],
    [{ error: 'forbidden' }, 'error', 'DeletionFails'],
  ])('has leaked resources: %j', async ({ error }, severity, reason) => {
    const leaked = { type: 'instance', id: 'i-1', nodeId: undefined, sinceMs: 5, error };
    const launcher = await new RackWorld({ leakedResources: () => [leaked] }).startLauncher();

    expect(launcher.conditions.find()).toMatchObject([
      { name: 'rack', type: 'ResourcesLeaked', severity, reason, sinceMs: 5 },
    ]);
  });

  it('has resources of a database that was replaced, and advises against deleting them', async () => {
    const leaked = { type: 'instance', id: 'i-1', nodeId: undefined, sinceMs: 5, error: 'the id is gone' };
    const launcher = await new RackWorld({
      leakedResources: () => [{ ...leaked, isOfReplacedDatabase: true }],
    }).startLauncher();

    const [found] = launcher.conditions.find();

    expect(found).toMatchObject({ type: 'ResourcesLeaked', severity: 'error', reason: 'DatabaseReplaced' });
    expect(found?.nextStep).toMatch(/^restore the data of ZooKeeper; delete nothing by hand/);
  });

  it('has resources without proof, and those of another database', async () => {
    const alien = { type: 'instance', id: 'i-1', name: 'np1', nodeId: undefined, buildId: undefined, sinceMs: 1 };
    const aliens = [
      { ...alien, databaseId: undefined },
      { ...alien, id: 'i-2', databaseId: 'f'.repeat(32) },
    ];
    const launcher = await new RackWorld({ alienResources: () => aliens }).startLauncher();

    expect(launcher.conditions.find()).toMatchObject([
      { type: 'ResourcesWithoutProof', nextStep: 'nodepool adopt rack' },
      { type: 'ResourcesOfOtherDatabase' },
    ]);
    expect(launcher.conditions.find()[0]?.message).toContain('1 resource (instance i-1 (np1))');
  });
});
