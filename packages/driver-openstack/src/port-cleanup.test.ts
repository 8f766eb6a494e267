import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import type { Port } from './client/network.js';
import { PortCleanup } from './port-cleanup.js';

const INTERVAL_MS = 600_000;
const DATABASE_ID = 'd'.repeat(32);

function setUp(intervalMs = INTERVAL_MS) {
  const clock = new VirtualClock();
  const cleanup = new PortCleanup({ clock, provider: 'sky', databaseId: DATABASE_ID, intervalMs });
  const server = (externalId: string, databaseId = DATABASE_ID) =>
    ({
      externalId,
      metadata: {
        nodepool_provider_name: 'sky',
        nodepool_node_id: '0000000001',
        nodepool_database_id: databaseId,
      },
    }) as never;
  return { clock, cleanup, server };
}

const port = (more: Partial<Port> = {}) =>
  ({ id: 'p1', status: 'DOWN', deviceId: 's1', deviceOwner: 'compute:nova', vnicType: 'normal', ...more }) as Port;

describe('PortCleanup', () => {
  it('finds a port of a deleted server that is down for the interval', async () => {
    const { clock, cleanup, server } = setUp();
    cleanup.saw([server('s1')]);
    cleanup.saw([]);

    expect(cleanup.orphansOf([port()])).toEqual([]);
    await clock.advance(INTERVAL_MS);

    expect(cleanup.orphansOf([port()])).toEqual([port()]);
  });

  it('starts again for a port that was in use in between', async () => {
    const { clock, cleanup, server } = setUp();
    cleanup.saw([server('s1')]);
    cleanup.saw([]);
    cleanup.orphansOf([port()]);
    cleanup.orphansOf([port({ status: 'ACTIVE' })]);
    await clock.advance(INTERVAL_MS);

    expect(cleanup.orphansOf([port()])).toEqual([]);
  });

  it.each([
    ['of an existing server', {}, ['s1']],
    ['of an unknown server', { deviceId: 's2' }, []],
    ['of another owner', { deviceOwner: 'network:router_interface' }, []],
    ['of bare metal', { vnicType: 'baremetal' }, []],
  ])('never finds a port %s', async (_what, more, present) => {
    const { clock, cleanup, server } = setUp();
    cleanup.saw([server('s1')]);
    cleanup.saw(present.map((id) => server(id)));
    cleanup.orphansOf([port(more)]);
    await clock.advance(INTERVAL_MS);

    expect(cleanup.orphansOf([port(more)])).toEqual([]);
  });

  it('ignores servers of another database, and is due only with own servers', () => {
    const { cleanup, server } = setUp();
    cleanup.saw([server('s1', 'f'.repeat(32))]);
    expect(cleanup.isDue).toBe(false);
    cleanup.noted(server('s1'));

    expect(cleanup.isDue).toBe(true);
  });

  it('is never due with an interval of 0', () => {
    const { cleanup, server } = setUp(0);
    cleanup.saw([server('s1')]);

    expect(cleanup.isDue).toBe(false);
  });
});
