import { expect, it } from 'vitest';
import { idleProvider } from '../../../../test/support/idle-provider.js';
import { memoryLogging } from '../../../../test/support/memory-logging.js';
import { rackProvider } from '../../../../test/support/rack-world.js';
import { VirtualClock } from '../../../testing/virtual-clock.js';
import { currentDriverScope, DriverScope, outOfDriverScope } from './driver-scope.js';

function setUp() {
  const clock = new VirtualClock();
  const { logger, stdout } = memoryLogging();
  const faults: unknown[] = [];
  const driverFaulted = (...fault: unknown[]) => void faults.push([...fault, currentDriverScope()]);
  const provider = idleProvider(rackProvider);
  const scope = new DriverScope(provider, { clock, logger, faults: { driverFaulted } });
  return { clock, stdout, faults, provider, scope };
}

it('covers what the code of a driver starts, and not the launcher’s code that it calls', async () => {
  const { scope } = setUp();

  const scopes = await scope.run(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return [currentDriverScope(), outOfDriverScope(currentDriverScope)];
  });

  expect(scopes).toEqual([scope, undefined]);
  expect(currentDriverScope()).toBeUndefined();
});

it.each([
  ['throws', () => JSON.parse('{') as boolean],
  ['answers with a promise', () => Promise.resolve(true) as never],
  ['answers with something else', () => 'yes' as never],
])('takes the safe answer of a driver that %s', (_how, call) => {
  const { scope } = setUp();

  expect(scope.ask('labelReady', false, call, (answer) => typeof answer === 'boolean')).toBe(false);
  expect(scope.ask('labelReady', false, () => true)).toBe(true);
});

it('logs violations of a method once a minute', async () => {
  const { clock, scope, stdout } = setUp();
  const lines = () =>
    stdout()
      .split('\n')
      .filter((line) => line.includes('broke its contract')).length;

  for (let i = 0; i < 3; i++) scope.logViolation('canHold', new Error('not now'));
  scope.logViolation('hosts', new Error('not now'));
  const first = lines();
  await clock.advance(60_000);
  scope.logViolation('canHold', new Error('not now'));

  expect([first, lines()]).toEqual([2, 1]);
});

it('reports faults with the provider, outside of its scope', () => {
  const { scope, faults, provider } = setUp();
  const error = new Error('forgotten');

  scope.run(() => scope.fault('unhandled rejection', error));

  expect(faults).toEqual([[provider, 'unhandled rejection', error, undefined]]);
});
