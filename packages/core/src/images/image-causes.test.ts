import { describe, expect, it } from 'vitest';
import {
  CapacityError,
  LaunchError,
  LockLostError,
  ProviderUnavailableError,
  QuotaError,
  TimeoutError,
} from '../contract/errors.js';
import { mayBeFaultOfImage } from './image-causes.js';

describe('a failed launch', () => {
  it.each([
    ['the instance does not boot', new LaunchError('status', 'ERROR')],
    ['it has no SSH server', new LaunchError('ssh', 'no banner')],
    ['it shows no host keys', new LaunchError('keyscan', 'no keys')],
    ['it is not ready in time', new TimeoutError('BUILD', { operation: 'create' })],
    ['the driver names no cause', new Error('no boot')],
  ])('may be the fault of the image: %s', (_what, error) => {
    expect(mayBeFaultOfImage(error)).toBe(true);
  });

  it.each([
    ['no quota', new QuotaError('no')],
    ['no capacity', new CapacityError('no valid host')],
    ['no answer of the cloud', new ProviderUnavailableError('503')],
    ['no address', new LaunchError('address', 'no floating IP')],
    ['a lost lock', new LockLostError('gone')],
    ['ZooKeeper is away', Object.assign(new Error('lost'), { code: 'ZK_CONNECTION_LOSS' })],
    ['a stop', new DOMException('stopped', 'AbortError')],
  ])('says nothing about the image: %s', (_what, error) => {
    expect(mayBeFaultOfImage(error)).toBe(false);
  });
});
