import { describe, expect, it } from 'vitest';
import {
  CapacityError,
  ConfigError,
  LaunchError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  TimeoutError,
} from '../../contract/errors.js';
import { failureKindOf } from './failure.js';

describe('a failed launch', () => {
  it.each([
    [new TimeoutError('no instance within 60 s', { operation: 'create' }), 'cloud'],
    [new ProviderUnavailableError('status 500'), 'cloud'],
    [new LaunchError('keyscan', 'no host key'), 'cloud'],
    [new Error('an error of the SDK'), 'cloud'],
    [new CapacityError('no valid host'), 'capacity'],
    [new QuotaError('cores'), 'own'],
    [new ConfigError('no such flavor'), 'own'],
    [new NotFoundError('image'), 'own'],
  ])('with %o is the fault of: %s', (error, kind) => {
    expect(failureKindOf(error)).toBe(kind);
  });
});
