import { nodeLockPath, nodePath } from '@nodepool/zk-protocol';
import { beforeEach, describe, expect, it } from 'vitest';
import { labelled, told } from '../../../test/support/conditions.js';
import { RackWorld } from '../../../test/support/rack-world.js';
import { LaunchError, ProviderUnavailableError } from '../../contract/errors.js';

const MINUTE_MS = 60_000;

let world: RackWorld;
beforeEach(() => (world = new RackWorld()));

describe('a node', () => {
  it('takes too long to be deleted whether or not a launcher works on it, until it is gone', async () => {
    await world.createNodes([{ state: 'deleting', externalId: 'i-1' }, {}]);
    const [id] = (await world.clock.run(world.zk.getChildren('/nodepool/nodes'))).sort();
    const lock = `${nodeLockPath(id as never)}/x`;
    await world.clock.run(world.zk.ensurePath(lock));
    const launcher = await world.startLauncher(labelled());

    await world.clock.advance(4 * MINUTE_MS);
    const early = told(launcher);
    await world.clock.advance(2 * MINUTE_MS);
    const late = launcher.conditions.find();
    await world.clock.run(world.zk.deleteRecursive(nodePath(id as never)));
    await world.settle();

    expect(early).toEqual([]);
    expect(late).toMatchObject([{ kind: 'node', name: id, type: 'DeletionTakesLong', reason: 'StillInCloud' }]);
    expect(late[0]?.message).toContain('the cloud does not end instance i-1');
    expect(launcher.conditions.find()).toEqual([]);
  });

  it('fails to be deleted until it is', async () => {
    let error: Error | undefined = new ProviderUnavailableError('500');
    world = new RackWorld({ startNodeCleanup: () => (error ? Promise.reject(error) : undefined) });
    const launcher = await world.startLauncher(labelled());
    await world.createNodes([{ state: 'used', externalId: 'i-1' }, {}]);
    await world.settle();

    const during = launcher.conditions.find();
    error = undefined;
    await world.clock.advance(2 * MINUTE_MS);

    expect(during).toMatchObject([{ kind: 'node', type: 'DeletionFails', reason: 'Unavailable' }]);
    expect(launcher.conditions.find()).toEqual([]);
  });
});

it('a node whose machine is gone is named with its lease if it has one, else as held', async () => {
  const gone = (nodeId: string) => ({ nodeId, why: 'the instance does not exist any more', sinceMs: 0, lastSeenMs: 0 });
  world = new RackWorld({ unusableNodes: () => ['0000000000', '0000000001'].map(gone) as never });
  const launcher = await world.startLauncher(labelled());
  await world.createNodes([{ state: 'hold', userData: { lease: '0000000007' } }, { state: 'hold' }, {}]);
  await world.settle();

  expect(launcher.conditions.find()).toMatchObject([
    {
      ...{
        type: 'MachineUnusable',
        message: 'it is leased (lease 0000000007), and the instance does not exist any more',
      },
      nextStep: 'nodepool release 0000000007, or wait until its lessee returns it',
    },
    {
      ...{ type: 'MachineUnusable', message: 'it is held, and the instance does not exist any more' },
      nextStep: 'nodepool delete 0000000001, once it is no longer needed',
    },
  ]);
});

// Ends: DeletionFails InstanceFailed
it('a node of an instance that failed is looked at in the cloud, not at its image, until it can be deleted', async () => {
  let error: Error | undefined = new LaunchError('status', 'the instance is in state ERROR');
  world = new RackWorld({ startNodeCleanup: () => (error ? Promise.reject(error) : undefined) });
  const launcher = await world.startLauncher(labelled());
  await world.createNodes([{ state: 'used', externalId: 'i-1' }, {}]);
  await world.settle();

  const [found] = launcher.conditions.find();

  expect(found).toMatchObject({ type: 'DeletionFails', reason: 'InstanceFailed' });
  expect(found?.nextStep).toBe(
    `look at the instance with the tools of the cloud; nodepool delete ${found?.name} tries again at once`,
  );
  error = undefined;
  await world.clock.advance(2 * MINUTE_MS);
  expect(launcher.conditions.find()).toEqual([]);
});
