import { steeringPath } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { RackWorld } from '../../../test/support/rack-world.js';
import { newLaunch } from '../../../test/support/steering-at.js';
import { ProviderUnavailableError } from '../../contract/errors.js';
import type { Launcher } from '../launcher.js';
import type { Launch } from '../state/events.js';
import { DEFAULT_HEALTH_LIMITS } from './health.js';

const { failuresToOpen, firstPauseMs } = DEFAULT_HEALTH_LIMITS;
const PATH = steeringPath('rack');

function begin({ events }: Launcher): Launch {
  const launch = { ...newLaunch('a'), provider: 'rack' };
  events.emit('launchBegun', { launch });
  events.emit('launchProgressed', { launch, step: { what: 'created' } });
  return launch;
}

function fail(launcher: Launcher): void {
  for (let i = 0; i < failuresToOpen; i++) {
    const launch = begin(launcher);
    launcher.events.emit('launchProgressed', {
      launch,
      step: { what: 'failed', error: new ProviderUnavailableError('no route') },
    });
    launcher.events.emit('launchEnded', { launch, state: 'failed' });
  }
}

describe('what launches have shown of a provider', () => {
  it('is known to a launcher that starts later, which probes it and starts nothing else', async () => {
    const world = new RackWorld();
    fail(await world.startLauncher());
    await world.settle();

    const successor = await world.startLauncher();
    const [told] = successor.failingLaunches;

    expect(told?.report).toMatchObject({
      provider: { state: 'failing', failures: failuresToOpen, error: 'no route', reason: 'Unavailable' },
    });
    await world.clock.advance(firstPauseMs);
    expect(successor.failingLaunches[0]?.report.provider.state).toBe('probing');
    successor.events.emit('launchEnded', { launch: begin(successor), state: 'ready' });
    expect(successor.failingLaunches).toEqual([]);
  });

  it('is written at most every 10 s', async () => {
    const world = new RackWorld();
    const launcher = await world.startLauncher();
    const startMs = world.clock.now();

    for (let second = 0; second < 30; second++) {
      launcher.events.emit('launchEnded', { launch: begin(launcher), state: 'ready' });
      await world.clock.advance(1_000);
    }

    const { stat } = await world.clock.run(world.zk.getData(PATH));
    expect(stat.version).toBe(Math.floor((world.clock.now() - startMs) / 10_000));
  });

  it.each(['not JSON', '{}', '{"nowMs":1,"labels":[{"label":3}],"zones":[],"ramp":{"limit":5,"usualMs":{}}}'])(
    'does not keep a launcher from starting when it is damaged: %s',
    async (body) => {
      const world = new RackWorld();
      fail(await world.startLauncher());
      await world.settle();
      await world.clock.run(world.zk.setData(PATH, body));

      const successor = await world.startLauncher();

      expect([successor.notReady, successor.failingLaunches]).toEqual([[], []]);
    },
  );

  it('is as old as the time says that launchers agree about, also under a leader with another clock', async () => {
    const world = new RackWorld();
    fail(await world.startLauncher());
    await world.settle();
    const { data } = await world.clock.run(world.zk.getData(PATH));
    const stored = JSON.parse(data.toString()) as { agreedMs: number };
    const older = { ...stored, agreedMs: stored.agreedMs - 24 * 3_600_000 };
    await world.clock.run(world.zk.setData(PATH, JSON.stringify(older)));

    expect((await world.startLauncher()).failingLaunches).toEqual([]);
  });

  it('is forgotten after a day', async () => {
    const world = new RackWorld();
    const launcher = await world.startLauncher();
    fail(launcher);
    await world.settle();
    await launcher.stop();
    await world.clock.advance(24 * 3_600_000);

    expect((await world.startLauncher()).failingLaunches).toEqual([]);
  });
});
