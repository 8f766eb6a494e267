import { newNode, newRequest, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { idleProvider } from '../../../../test/support/idle-provider.js';
import { rackProvider } from '../../../../test/support/rack-world.js';
import { poolConfig } from '../../../../test/support/pool-config.js';
import type { LaunchOrder } from '../../../contract/driver.js';
import type { PoolLabelConfig } from '../../../contract/provider-config.js';
import { silentLogger } from '../../../contract/logger.js';
import { VirtualClock } from '../../../testing/virtual-clock.js';
import { DriverScope } from './driver-scope.js';
import { guardHandler } from './guarded-handler.js';

const NODE: NodeRecord = { ...newNode({ state: 'building', labels: ['a'] }, 0), id: '0000000001' as NodeId };

/** Launches the node with a driver that stores it as `stored` and says that it is ready. */
async function launch(stored: NodeRecord['state'], shown: NodeRecord['state']) {
  const clock = new VirtualClock();
  const options = { clock, logger: silentLogger, faults: { driverFaulted: () => undefined } };
  const scope = new DriverScope(idleProvider(rackProvider), options);
  const guarded = guardHandler(
    {
      imagesAvailable: () => true,
      launch: async (order) => ({ state: 'ready', node: await order.store({ state: stored }) }),
    },
    {
      ...{ scope, clock },
      nodes: new Map([[NODE.id, { ...NODE, state: shown }]]),
    },
  );
  const pool = poolConfig('main', ['a']);
  const order: LaunchOrder = {
    ...{ node: NODE, pool, label: pool.labels.get('a') as PoolLabelConfig, request: newRequest({ labels: ['a'] }, 0) },
    store: (changes) => Promise.resolve({ ...NODE, ...changes }),
  };
  return clock.run(guarded.launch?.(order, new AbortController().signal) ?? Promise.reject(new Error('no launch')));
}

describe('a launch that says the node is ready', () => {
  it('is believed when it has stored that, also when the holder of the node has changed it since', async () => {
    expect(await launch('ready', 'in-use')).toMatchObject({ state: 'ready' });
  });

  it('has failed when it has stored something else', async () => {
    const { state, error } = await launch('building', 'building');

    expect(state).toBe('failed');
    expect(error?.message).toContain('returned state ready, but stored the node as building');
  });
});
