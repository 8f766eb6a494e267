import { expect, it } from 'vitest';
import { silentLogger, type LogFields, type Logger } from '../contract/logger.js';
import { pooledConfig, RackWorld } from '../../test/support/rack-world.js';

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
