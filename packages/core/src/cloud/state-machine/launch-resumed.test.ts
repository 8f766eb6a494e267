import type { NodeRecord, Stat } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { LaunchError } from '../../contract/errors.js';
import { LaunchWorld, providerConfig } from '../../../test/support/launch-world.js';
import { MemoryCloud, type CloudBehaviour } from '../../../test/support/memory-cloud.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import type { StateMachineLabelConfig, StateMachineProviderConfig } from './types.js';

const worlds: LaunchWorld[] = [];

afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end();
});

/** Two launchers with the same cloud. The clock of the second one may differ. */
function setUp(
  cloud: CloudBehaviour,
  config: Partial<StateMachineProviderConfig> = {},
  label: Partial<StateMachineLabelConfig> = {},
  leaderMs?: number,
) {
  const clock = new VirtualClock();
  const sky = new MemoryCloud(clock, cloud);
  const open = () => {
    const agreedNow = leaderMs === undefined ? undefined : () => clock.now();
    const madeMs = ({ ctime }: Pick<Stat, 'ctime'>) => ctime - (leaderMs ?? 0);
    const world = new LaunchWorld(clock, sky.adapter({}), providerConfig(config, label), { agreedNow, madeMs });
    worlds.push(world);
    return world;
  };
  return { clock, sky, first: open(), second: open() };
}

/** The record, as a write at this moment by the clock of ZooKeeper leaves it. */
function writtenAt(node: NodeRecord, mtime: number, ctime = node.stat?.ctime ?? mtime): NodeRecord {
  return { ...node, stat: { mtime, ctime } as Stat };
}

/** Begins a launch, and kills its launcher after some time. @returns the record that it leaves */
async function beginAndDie({ clock, first }: ReturnType<typeof setUp>, afterMs: number): Promise<NodeRecord> {
  const death = new AbortController();
  const began = writtenAt(first.node({ launchState: {} }), clock.now());
  const launched = first.launch(began, death.signal);
  await clock.advance(afterMs);
  death.abort(new Error('killed'));
  await clock.run(launched);
  const left = first.nodes.get(began.id);
  if (!left) throw new Error('the record is gone');
  return { ...left, stat: began.stat };
}

describe('a launch that another launcher began', () => {
  it('continues in the stored state, with the same instance, and forgets the state with the end of the launch', async () => {
    const setting = setUp({ createMs: 30_000 });
    const { clock, sky, second } = setting;
    const left = await beginAndDie(setting, 10_000);

    const resumed = second.resume(writtenAt(left, clock.now()));
    await clock.advance(20_500);
    const { state, node } = await clock.run(resumed);

    expect(left.launchState).toMatchObject({ attempt: 1, state: { name: 'waiting', externalId: 'i-1' } });
    expect({ state, externalId: node.externalId, launchState: node.launchState }).toEqual({
      state: 'ready',
      externalId: 'i-1',
      launchState: null,
    });
    expect([sky.count('create'), sky.count('delete')]).toEqual([1, 0]);
    expect(second.writes).toHaveLength(1);
  });

  it('takes no more writes than one that no other launcher could continue', async () => {
    const { first, clock } = setUp({ createMs: 5_000 });

    await Promise.all([clock.advance(60_000), first.launch(first.node({ launchState: {} }))]);
    const withProgress = first.writes.splice(0).length;
    await Promise.all([clock.advance(60_000), first.launch(first.node())]);

    expect([withProgress, first.writes.length]).toEqual([2, 2]);
    expect(first.writes.some((write) => 'launchState' in write && write.launchState !== null)).toBe(false);
  });

  it('finds an instance whose id was never stored', async () => {
    const setting = setUp({ hangs: new Set(['create']) });
    const { clock, sky, second } = setting;
    const left = await beginAndDie(setting, 1_000);

    const { state, node } = await clock.run(second.resume(writtenAt(left, clock.now())));

    expect(left.externalId).toBeNull();
    expect([state, node.externalId, sky.count('create')]).toEqual(['ready', 'i-1', 1]);
  });

  it('uses an instance that was there at once, and whose host keys were being read', async () => {
    const setting = setUp({}, {}, { hostKeyChecking: true });
    const { clock, sky, first, second } = setting;
    first.keys = undefined;
    const left = await beginAndDie(setting, 1_000);

    const { state, node } = await clock.run(second.resume(writtenAt(left, clock.now())));

    expect([left.state, left.externalId]).toEqual(['building', 'i-1']);
    expect([state, node.externalId, sky.count('create'), sky.count('delete')]).toEqual(['ready', 'i-1', 1, 0]);
  });

  it.each([
    ['the start of a first attempt', 1, -10_000, -10_000],
    ['the present, of a later attempt', 2, -10_000, 0],
    ['never, while a later attempt has yet to begin', 2, 10_000, undefined],
  ])('tells the driver when an instance was ordered: %s', async (_what, attempt, beganMs, expected) => {
    const { clock, sky, second } = setUp({ createMs: 1 });
    await clock.advance(20_000);
    const nowMs = clock.now();
    const launchState = { attempt, began: (nowMs + beganMs) / 1000 };

    await clock.run(second.resume(writtenAt(second.node({ launchState }), nowMs, nowMs - 15_000)));

    const orderedMs = sky.resumptions[0]?.orderedMs;
    expect(orderedMs === undefined ? undefined : orderedMs - nowMs).toBe(expected);
  });

  it.each([0, 60_000, 3_600_000])('keeps the deadline of its attempt; its clock is %i ms ahead', async (aheadMs) => {
    const setting = setUp({ neverReady: true, createMs: 1 }, { launchTimeoutMs: 60_000, launchRetries: 1 });
    const { clock, second } = setting;
    const left = await beginAndDie(setting, 45_000);
    const server = clock.now();
    await clock.advance(aheadMs); // the same as a clock that is ahead: ZooKeeper's stands still
    const startedMs = clock.now();
    let endedMs = 0;

    const resumed = second.resume(writtenAt(left, server)).then((result) => {
      endedMs = clock.now();
      return result;
    });
    await clock.advance(30_000);
    const { state, error } = await clock.run(resumed);

    expect([state, error?.message]).toEqual(['failed', expect.stringMatching(/not ready within 60 s/)]);
    expect(endedMs - startedMs).toBeGreaterThanOrEqual(15_000);
    expect(endedMs - startedMs).toBeLessThan(20_000); // with a last look at the instance
  });

  it.each([300_000, -300_000])('keeps it when a server leads whose clock is %i ms ahead', async (leaderMs) => {
    const setting = setUp({ neverReady: true, createMs: 1 }, { launchTimeoutMs: 60_000, launchRetries: 1 }, {}, 0);
    const { clock, second } = setting;
    const left = await beginAndDie(setting, 45_000);
    const startedMs = clock.now();

    const resumed = second.resume(writtenAt(left, clock.now() + leaderMs)).then(() => clock.now() - startedMs);
    await clock.advance(80_000);
    const tookMs = await clock.run(resumed);

    expect(tookMs).toBeGreaterThanOrEqual(15_000);
    expect(tookMs).toBeLessThan(20_000);
  });

  it.each([300_000, -300_000])(
    'keeps it before its first write, which a server led whose clock is %i ms ahead',
    async (leaderMs) => {
      const setting = setUp(
        { neverReady: true, createMs: 1 },
        { launchTimeoutMs: 60_000, launchRetries: 1 },
        {},
        leaderMs,
      );
      const { clock, second } = setting;
      const left = second.node({ launchState: {} });
      const began = clock.now() - 45_000 + leaderMs;
      const startedMs = clock.now();

      const resumed = second.resume(writtenAt(left, clock.now(), began)).then(() => clock.now() - startedMs);
      await clock.advance(80_000);
      const tookMs = await clock.run(resumed);

      expect(tookMs).toBeGreaterThanOrEqual(15_000);
      expect(tookMs).toBeLessThan(20_000);
    },
  );

  it('uses an instance that became ready while no launcher was there, although its time is over', async () => {
    const setting = setUp({ createMs: 30_000 }, { launchTimeoutMs: 60_000 });
    const { clock, sky, second } = setting;
    const left = await beginAndDie(setting, 10_000);
    await clock.advance(600_000);

    const { state, node } = await clock.run(second.resume(writtenAt(left, clock.now())));

    expect([state, node.externalId, sky.count('create')]).toEqual(['ready', 'i-1', 1]);
  });

  it('continues with the attempt after one that failed, and deletes its instance first', async () => {
    const setting = setUp({ createMs: 1_000 }, { launchRetries: 2 });
    const { clock, sky, second } = setting;
    const failed = { attempt: 2, began: clock.now() / 1000 };
    sky.put({ externalId: 'i-old', metadata: {} });
    const left = second.node({ launchState: failed, externalId: 'i-old' });

    const resumed = second.resume(writtenAt(left, clock.now()));
    sky.failNext('create', new LaunchError('status', 'status ERROR'));
    await clock.advance(5_000);
    const { state, error } = await clock.run(resumed);

    expect(sky.instances.has('i-old')).toBe(false);
    expect([state, error?.message]).toEqual(['failed', 'status ERROR']); // it was the second attempt of two
  });

  it('begins at the start where its driver does not know the stored state, and finds its instance', async () => {
    const setting = setUp({ createMs: 5_000 });
    const { clock, sky, second } = setting;
    const left = await beginAndDie(setting, 1_000);
    const launchState = { attempt: 1, began: clock.now() / 1000, state: { name: 'of-old', externalId: 'i-1' } };

    const resumed = second.resume(writtenAt({ ...left, launchState }, clock.now()));
    await clock.advance(10_000);
    const { state, node } = await clock.run(resumed);

    expect([state, node.externalId, sky.count('create')]).toEqual(['ready', 'i-1', 1]);
  });
});
