import type { MachineRun } from '@nodepool/core';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import type { InstanceStatus } from '../cloud/index.js';
import type { FakeInstance } from './instance.js';
import { stopHandlers } from './stop-node.js';

const externalId = 'i-1';

/** The step after a stop, while the cloud shows this status. */
function stepAt(status: InstanceStatus | undefined) {
  const find = () => Promise.resolve(status && ({ externalId, status } as FakeInstance));
  const run = { instances: { find } } as unknown as MachineRun<FakeInstance>;
  return stopHandlers['waiting-until-stopped']({ name: 'waiting-until-stopped', externalId }, () => expect.fail(), run);
}

it.each(['active', 'stopping'] as const)('waits while the cloud shows the instance as %s', async (status) => {
  expect(await stepAt(status)).toMatchObject({ step: 'wait' });
});

it('ends with the state that starts the instance, once it has stopped', async () => {
  expect(await stepAt('stopped')).toEqual({ step: 'done', result: { name: 'starting', externalId } });
});

it('fails when the instance breaks or vanishes', async () => {
  const [broken, gone] = [await stepAt('error'), await stepAt(undefined)];

  expect([broken.step, gone.step]).toEqual(['failed', 'failed']);
  expect(gone.step === 'failed' && isNodepoolError(gone.error, 'NODEPOOL_NOT_FOUND')).toBe(true);
});
