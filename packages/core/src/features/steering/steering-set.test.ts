import { newNode, type NodeId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { rackConfig, rackProvider } from '../../../test/support/rack-world.js';
import { newLaunch } from '../../../test/support/steering-at.js';
import { CapacityError, ProviderUnavailableError } from '../../contract/errors.js';
import { silentLogger, type LogFields } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { LauncherEvents, type Launch } from '../../launcher/state/events.js';
import { DEFAULT_HEALTH_LIMITS } from './health.js';
import { SteeringSet } from './steering-set.js';

const { failuresToOpen, firstPauseMs } = DEFAULT_HEALTH_LIMITS;
const down = new ProviderUnavailableError('no route');

const failing = (set: SteeringSet) =>
  set.reports().flatMap(({ provider, report }) => (report.provider.state === 'healthy' ? [] : provider));

function setUp() {
  const lines: [string, LogFields | undefined][] = [];
  const told: string[] = [];
  const logger = { ...silentLogger, warn: (text: string, fields?: LogFields) => void lines.push([text, fields]) };
  const clock = new VirtualClock();
  const [events, config] = [new LauncherEvents(), { now: rackConfig }];
  events.on('healthChanged', ({ provider }) => told.push(`changed ${provider}`));
  const probes = { checkSoon: (provider: string) => void told.push(`settled ${provider}`) };
  const set = new SteeringSet({ clock, events, config, logger, probes, zk: { state: 'CONNECTED' } });
  const begin = (): Launch => {
    const launch = { ...newLaunch('big'), provider: 'rack' };
    events.emit('launchBegun', { launch });
    return launch;
  };
  const fail = (error: Error) => {
    for (let i = 0; i < failuresToOpen; i++) {
      const launch = begin();
      events.emit('launchProgressed', { launch, step: { what: 'failed', error } });
      events.emit('launchEnded', { launch, state: 'failed' });
    }
  };
  return { lines, told, clock, events, config, set, begin, fail };
}

describe('the health of providers', () => {
  it('follows from the events of their launches, and is reported by events', async () => {
    const { told, clock, set, begin, fail, events } = setUp();

    fail(down);
    const during = failing(set);
    await clock.advance(firstPauseMs);
    events.emit('launchEnded', { launch: begin(), state: 'ready' });

    expect([during, failing(set), set.reports()]).toEqual([['rack'], [], []]);
    expect(told).toEqual(['changed rack', 'settled rack', 'changed rack', 'changed rack']);
  });

  it('is good again once a launch is ready that began as a probe and was lost with the session', () => {
    const { told, set, fail, events } = setUp();
    fail(down);
    const launch = {
      ...newLaunch('big'),
      provider: 'rack',
      node: { ...newNode({ state: 'building' }, 0), id: '1' as NodeId },
    };

    events.emit('launchBegun', { launch });
    events.emit('launchEnded', { launch, state: 'failed' });
    const during = failing(set);
    events.emit('launchEnded', { launch, state: 'ready' });

    expect([during, failing(set)]).toEqual([['rack'], []]);
    expect(told.at(-1)).toBe('changed rack');
  });

  it('is logged for a label without capacity as such, and not as a provider that fails, with an error of before', () => {
    const { lines, events, begin, fail } = setUp();
    fail(down);
    events.emit('launchEnded', { launch: begin(), state: 'ready' });
    lines.length = 0;

    fail(new CapacityError('none left'));

    expect(lines).toMatchObject([
      [
        'Launches of a label fail in a provider; requests for it go to others',
        { provider: 'rack', label: 'big', state: 'failing', failures: 3, error: 'none left' },
      ],
    ]);
  });

  it('is not known where steering is off, and forgets no launch that was begun before', () => {
    const { set, config, events, begin } = setUp();
    const launch = begin();
    const steering = set.of('rack');

    config.now = { ...rackConfig, steering: false };
    begin();
    const isProbed = steering?.isProbed('big');
    events.emit('launchEnded', { launch, state: 'aborted' });

    expect([set.of('rack'), isProbed, steering?.isProbed('big')]).toEqual([undefined, true, false]);
  });

  it('is not reported for a label that left the configuration, nor without a limit for a zone without launches', async () => {
    const { clock, config, events, set, begin } = setUp();
    const use = (...labels: string[]) => {
      const provider = { ...rackProvider, pools: new Map([['main', poolConfig('main', labels)]]) };
      config.now = { ...rackConfig, providers: new Map([['rack', provider]]) };
    };
    use('big');
    for (let i = 0; i < failuresToOpen; i++) {
      const launch = begin();
      events.emit('launchProgressed', { launch, step: { what: 'placed', zone: 'z1' } });
      events.emit('launchProgressed', { launch, step: { what: 'failed', error: new CapacityError('none left') } });
      events.emit('launchEnded', { launch, state: 'failed' });
    }
    const shown = () => set.reports().map(({ report: { labels, zones } }) => [labels.length, zones.length]);
    const before = shown();

    use('small');
    const left = shown();
    use('big');
    await clock.advance(3_700_000);

    expect([before, left, shown()]).toEqual([[[1, 1]], [], [[1, 0]]]);
  });

  it('reports nothing after its end, and leaves no timer', () => {
    const { told, clock, set, fail } = setUp();
    fail(down);

    set.stop();
    fail(down);

    expect([told.filter((line) => line.startsWith('changed')), clock.pendingTimers]).toEqual([['changed rack'], 0]);
  });
});
