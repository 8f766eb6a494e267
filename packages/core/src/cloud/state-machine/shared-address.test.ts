import { newNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { LaunchWorld, providerConfig } from '../../../test/support/launch-world.js';
import { MemoryCloud, type CloudBehaviour } from '../../../test/support/memory-cloud.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { addressOf, sharedAddresses } from './shared-address.js';

let bench: LaunchWorld | undefined;

function setUp(behaviour: CloudBehaviour) {
  const clock = new VirtualClock();
  const cloud = new MemoryCloud(clock, behaviour);
  bench = new LaunchWorld(clock, cloud.adapter(), providerConfig({ launchRetries: 1 }));
  return { bench, clock, cloud };
}

const nodeAt = (id: string, changes: Partial<NodeRecord>): NodeRecord => ({
  ...newNode({ state: 'ready', interfaceIp: '192.0.2.7', connectionPort: 22, externalId: `i-${id}`, ...changes }, 0),
  id: id as NodeId,
});

afterEach(async () => {
  await bench?.end();
  bench = undefined;
});

describe('a machine that answers on the address of another one', () => {
  it('fails its launch, with both nodes and the cause in the message', async () => {
    const { bench } = setUp({ host: '192.0.2.7' });
    const first = await bench.launch();
    const second = await bench.launch();

    expect([first.state, second.state]).toEqual(['ready', 'failed']);
    expect(second.error?.message).toMatch(
      /^node 0000000002 \(instance i-2\) and node 0000000001 \(instance i-1\) both .* 192.0.2.7 port 22.*machine-id/,
    );
  });

  it('fails its launch when both become ready at once', async () => {
    const { bench, clock } = setUp({ host: '192.0.2.7', createMs: 5_000 });
    const launches = await clock.run(Promise.all([bench.launch(), bench.launch()]));

    expect(launches.map(({ state }) => state).sort()).toEqual(['failed', 'ready']);
  });

  it('may use it once the other one is gone', async () => {
    const { bench, clock } = setUp({ host: '192.0.2.7' });
    const { node } = await bench.launch();
    await clock.run(bench.cleanUp(node));

    expect((await bench.launch()).state).toBe('ready');
  });
});

it.each<[string, Partial<NodeRecord>, Partial<NodeRecord>]>([
  ['another port', { connectionPort: 2222 }, {}],
  ['slots of one machine', { slot: 0 }, { slot: 1 }],
  ['pods, which are reached through their cluster', { connectionType: 'kubectl' }, { connectionType: 'kubectl' }],
  ['nodes without an address', { interfaceIp: null }, { interfaceIp: null }],
])('takes %s for no shared address', (_what, one, other) => {
  expect(sharedAddresses([nodeAt('0000000001', one), nodeAt('0000000002', other)])).toEqual([]);
});

it('knows the younger node by its id, and the port of a login without one', () => {
  const [found, ...others] = sharedAddresses([
    nodeAt('0000000002', { connectionPort: null }),
    nodeAt('0000000001', { connectionPort: 22 }),
  ]);

  expect([found?.younger.id, others]).toEqual(['0000000002', []]);
  expect(addressOf(nodeAt('1', { connectionPort: null }))).toBe('192.0.2.7 port 22');
});
