import { expect, it } from 'vitest';
import { silentLogger, type LogFields, type Logger } from '../contract/logger.js';
import { pooledConfig, RackWorld } from '../../test/support/rack-world.js';
import type { Launcher } from './launcher.js';

it('a launcher that drains says what it waits for, and says it again', async () => {
  const lines: string[] = [];
  const join = () => new Promise<void>(() => {});
  const info = (message: string, fields?: LogFields) =>
    lines.push(`${message} ${JSON.stringify(fields?.['for'] ?? '')}`);
  const logger: Logger = { ...silentLogger, info, child: () => logger };
  const world = new RackWorld({ join }, logger);
  const launcher = await world.startLauncher(pooledConfig);

  await world.clock.run(launcher.drain(70_000));

  expect(lines.filter((line) => /^Finishing|^Still/.test(line))).toEqual([
    'Finishing what is in progress; SIGQUIT leaves it to the other launchers ""',
    'Still waiting before the stop "providers"',
    'Still waiting before the stop "providers"',
  ]);
});

it.each([
  ['drains', (launcher: Launcher) => launcher.drain(1_000), []],
  ['hands its work over', (launcher: Launcher) => launcher.endOrders(), []],
  ['ends otherwise', () => Promise.resolve(), ['LauncherGone nl01:8005']],
])('the others report a launcher that %s only if it was lost', async (_what, end, expected) => {
  const world = new RackWorld();
  const { zk } = world.session();
  const [leaving, staying] = [world.launcher(pooledConfig, zk), world.launcher(pooledConfig)];
  await world.clock.run(leaving.start('http://nl01:8005'));
  await world.clock.run(staying.start('http://nl01:8006'));
  await world.settle();

  await world.clock.run(end(leaving));
  await world.settle();
  await world.clock.run(zk.close());
  await world.clock.advance(60_000);

  const told = staying.conditions.find().filter(({ type }) => type === 'LauncherGone');
  expect(told.map(({ type, name }) => `${type} ${name}`)).toEqual(expected);
});
