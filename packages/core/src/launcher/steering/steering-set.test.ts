import { describe, expect, it } from 'vitest';
import { CapacityError, ProviderUnavailableError } from '../../contract/errors.js';
import type { Config } from '../../contract/config.js';
import type { Logger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/index.js';
import { SteeringSet } from './steering-set.js';

/** The steering of one provider, and its warnings. */
function setUp() {
  const clock = new VirtualClock();
  const warnings: [string, object | undefined][] = [];
  const ignore = () => undefined;
  const warn = (message: string, fields?: object) => void warnings.push([message, fields]);
  const logger: Logger = { debug: ignore, info: ignore, warn, error: ignore, child: () => logger };
  const config = { providers: new Map([['sky', { entry: {} }]]) } as unknown as Config;
  const steering = new SteeringSet({ clock, logger, config: () => config, changed: ignore }).of('sky');
  const fail = (error: Error) => steering?.begin('small').attemptFailed(error);
  return { clock, warnings, fail };
}

describe('the log of steering', () => {
  it('names the label that has no capacity, and not an error of the provider from before', async () => {
    const { clock, warnings, fail } = setUp();
    fail(new ProviderUnavailableError('timed out'));
    await clock.advance(420_000);
    for (let i = 0; i < 3; i++) fail(new CapacityError('no valid host'));

    const details = {
      provider: 'sky',
      label: 'small',
      state: 'open',
      failures: 3,
      error: 'no valid host',
      errorAgeMs: 0,
    };
    expect(warnings).toEqual([['Launches of a label fail in a provider; requests for it go to others', details]]);
  });

  it('says how old the error of a provider is', async () => {
    const { clock, warnings, fail } = setUp();
    for (let i = 0; i < 3; i++) fail(new ProviderUnavailableError('timed out'));
    await clock.advance(60_000);
    for (let i = 0; i < 3; i++) fail(new CapacityError('no valid host'));

    expect(warnings.map(([message]) => message)).toContain('Provider fails; requests go to others');
    expect(warnings.map(([, fields]) => fields)).toContainEqual(
      expect.objectContaining({ error: 'timed out', errorAgeMs: 60_000 }),
    );
  });
});
