import { expect, it } from 'vitest';
import { CapacityError, ProviderUnavailableError } from '../../contract/errors.js';
import { silentLogger, type LogFields } from '../../contract/logger.js';
import type { Config } from '../../contract/config.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { SteeringSet } from './steering-set.js';

it('logs a label without capacity as such, and not as a provider that fails, with an error of before', () => {
  const lines: [string, LogFields | undefined][] = [];
  const logger = { ...silentLogger, warn: (text: string, fields?: LogFields) => void lines.push([text, fields]) };
  const config = { providers: new Map([['sky', { entry: {} }]]) } as unknown as Config;
  const ignore = () => undefined;
  const port = { logger, config: () => config, changed: ignore, settled: ignore };
  const set = new SteeringSet({ clock: new VirtualClock(), ...port });
  const fail = (error: Error) => {
    for (let i = 0; i < 3; i++) set.of('sky')?.begin('big').attemptFailed(error);
  };

  fail(new ProviderUnavailableError('no route'));
  set.of('sky')?.begin('big').ended(true);
  lines.length = 0;
  fail(new CapacityError('none left'));
  set.close();

  expect(lines).toMatchObject([
    [
      'Launches of a label fail in a provider; requests for it go to others',
      { provider: 'sky', label: 'big', state: 'open', failures: 3, error: 'none left' },
    ],
  ]);
});
