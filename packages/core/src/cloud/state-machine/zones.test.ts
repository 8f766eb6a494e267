import { describe, expect, it } from 'vitest';
import { providerConfig } from '../../../test/support/launch-world.js';
import { MemoryCloud } from '../../../test/support/memory-cloud.js';
import { silentLogger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { Zones } from './zones.js';
import type { StateMachinePoolConfig } from './types.js';

function setUp(azs: readonly string[], avoided: readonly string[]) {
  const clock = new VirtualClock();
  const config = providerConfig({}, {}, { azs });
  let turn = 0;
  const zones = new Zones({
    ...{ config, clock, adapter: new MemoryCloud(clock).adapter({}), logger: silentLogger, changed: () => undefined },
    random: () => (turn++ % 10) / 10,
    avoids: (zone, label) => label === 'big' && avoided.includes(zone),
  });
  const pool = config.pools.get('main') as StateMachinePoolConfig;
  const chosen = (label: string | undefined) => new Set(Array.from({ length: 10 }, () => zones.choose(pool, label)));
  return { chosen };
}

describe('the zone of a new node', () => {
  it('is any of the pool, but for those without capacity for its label', () => {
    const { chosen } = setUp(['zone-1', 'zone-2', 'zone-3'], ['zone-1', 'zone-3']);

    expect(chosen('big')).toEqual(new Set(['zone-2']));
    expect(chosen('small')).toEqual(new Set(['zone-1', 'zone-2', 'zone-3']));
    expect(chosen(undefined)).toEqual(new Set(['zone-1', 'zone-2', 'zone-3']));
  });

  it('is one without capacity when there is no other', () => {
    expect(setUp(['zone-1', 'zone-2'], ['zone-1', 'zone-2']).chosen('big')).toEqual(new Set(['zone-1', 'zone-2']));
    expect(setUp(['zone-1'], ['zone-1']).chosen('big')).toEqual(new Set(['zone-1']));
  });
});
