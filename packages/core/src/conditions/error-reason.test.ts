import { describe, expect, it } from 'vitest';
import { NodepoolError } from '@nodepool/zk-protocol';
import {
  CapacityError,
  ConfigError,
  DriverError,
  LaunchError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  RateLimitedError,
  TimeoutError,
} from '../contract/errors.js';
import { adviceFor, reasonOfError, type ErrorReason } from './error-reason.js';

const answered = (status: number, code = 'NODEPOOL_CLOUD') => Object.assign(new NodepoolError(code, 'x'), { status });
const system = (code: string) =>
  new ProviderUnavailableError('no answer', { cause: Object.assign(new Error(code), { code }) });

describe('reasonOfError', () => {
  it.each<[Error, ErrorReason]>([
    [answered(401), 'Unauthorized'],
    [new ConfigError('cannot log in', [], { cause: answered(401) }), 'Unauthorized'],
    [answered(403), 'Forbidden'],
    [answered(403, 'NODEPOOL_QUOTA'), 'Quota'],
    [new QuotaError('full'), 'Quota'],
    [new CapacityError('none'), 'NoCapacity'],
    [new CapacityError('IpAddressGenerationFailure'), 'NoAddress'],
    [new CapacityError('No more free IPs in the pool'), 'NoAddress'],
    [new CapacityError('no image', { cause: new ConfigError('no image') }), 'Configuration'],
    [new NotFoundError('no flavor'), 'NotFound'],
    [answered(404), 'NotFound'],
    [new RateLimitedError('slow down'), 'RateLimited'],
    [new TimeoutError('late', { operation: 'create' }), 'Timeout'],
    [system('ECONNREFUSED'), 'Unreachable'],
    [system('ENOTFOUND'), 'Unreachable'],
    [system('UND_ERR_CONNECT_TIMEOUT'), 'Unreachable'],
    [new ProviderUnavailableError('500'), 'Unavailable'],
    [new ConfigError('wrong'), 'Configuration'],
    [new DriverError('x', 'not installed'), 'Driver'],
    [new LaunchError('keyscan', 'no SSH'), 'InstanceFailed'],
    [new Error('what is this'), 'Error'],
  ])('sorts %s', (error, reason) => {
    expect(reasonOfError(error)).toBe(reason);
  });

  it('names the provider in its advice', () => {
    expect(adviceFor('Unauthorized', 'sky')).toContain('credentials of provider "sky"');
  });
});
