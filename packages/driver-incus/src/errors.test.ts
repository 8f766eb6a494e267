import { describe, expect, it } from 'vitest';
import { ConfigError } from '@nodepool/core';
import { errorOfAnswer, errorOfOperation } from './errors.js';

const CREATE = 'POST /1.0/instances';
const operation = (err: string) => ({ id: '1', status: 'Failure', status_code: 400, err });
const codeOf = (error: Error | undefined) => (error as { code?: string } | undefined)?.code;

describe('an error of LXD 5.0.2 has the class that decides what core does next', () => {
  it.each([
    [500, 'Reached maximum number of instances in project "lim"', 'NODEPOOL_QUOTA'],
    [
      500,
      'Failed checking if instance creation allowed: Failed getting usage of project entities: Instance "c3" in project "lim" has no "limits.memory" config, either directly or via a profile',
      'NODEPOOL_CONFIG',
    ],
    [404, 'Image alias not found', 'NODEPOOL_CONFIG'],
    [500, 'Requested profile "nope" doesn\'t exist', 'NODEPOOL_CONFIG'],
    [400, 'Invalid instance name: Name can only contain alphanumeric and hyphen characters', 'NODEPOOL_CONFIG'],
    [404, 'Failed to fetch instance "c9/snap" in project "default": Instance not found', 'NODEPOOL_CONFIG'],
    [400, 'Target only allowed when clustered', 'NODEPOOL_CONFIG'],
    [404, 'Failed loading project: Project not found', 'NODEPOOL_CONFIG'],
    [503, 'LXD daemon not started yet', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    [500, 'No suitable cluster member could be found', 'NODEPOOL_CAPACITY'],
    [403, 'not authorized', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  ])('%i %s', (status, reason, code) => {
    expect(codeOf(errorOfAnswer(CREATE, status, reason))).toBe(code);
  });

  it.each([
    [
      'Failed creating instance record: Add instance info to the database: This "instances" entry already exists',
      'NODEPOOL_LAUNCH_STATUS',
    ],
    ['Image not provided for instance creation', 'NODEPOOL_CONFIG'],
    [
      'Failed initialising instance: Invalid devices: Device validation failed for "eth0": Network not found',
      'NODEPOOL_CONFIG',
    ],
    ['Failed creating instance record: Failed loading storage pool: Storage pool not found', 'NODEPOOL_CONFIG'],
    ['Failed creating instance record: Unknown configuration key: limits.nope', 'NODEPOOL_CONFIG'],
    ['Requested image\'s type "container" doesn\'t match instance type "virtual-machine"', 'NODEPOOL_CONFIG'],
    ['Unpack failed: tar: rootfs/usr/bin/vim: Cannot write: No space left on device', 'NODEPOOL_CAPACITY'],
    ['The instance is already running', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    ['Failed to run: /usr/sbin/lxd forkstart c1: exit status 1', 'NODEPOOL_LAUNCH_STATUS'],
  ])('operation: %s', (err, code) => {
    expect(codeOf(errorOfOperation('instance "c1"', operation(err)))).toBe(code);
  });
});

it('quotes the first and the last line of an output that the daemon has in its message', () => {
  const files = Array.from({ length: 9_000 }, (_, i) => `tar: rootfs/file${i}: Cannot write: No space left on device`);
  const err = `Failed to run: tar -xf image: exit status 2 (${files.join('\n')}\ntar: Exiting with failure status)`;

  const { message = '' } = errorOfOperation('instance "c1"', operation(err)) ?? {};

  expect(message).toMatch(
    /^instance "c1": Failed to run: tar .* \(8999 more lines\) tar: Exiting .*: free space in the/,
  );
  expect(message.length).toBeLessThan(500);
});

it('says how to repair it, with a reason for the condition', () => {
  const error = errorOfAnswer(CREATE, 404, 'Image alias not found');

  expect(error.message).toMatch(/^POST \/1\.0\/instances: 404: Image alias not found: .*import it/);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as ConfigError).reason).toBe('ImageMissing');
  expect(errorOfAnswer(CREATE, 403, 'not authorized').message).toContain('trust-token');
});

it('takes a missing object of another call for missing, not for a mistake in the configuration', () => {
  expect(codeOf(errorOfAnswer('DELETE /1.0/images/abc', 404, 'Image not found'))).toBe('NODEPOOL_NOT_FOUND');
});

it('is none while an operation runs, and after its success', () => {
  expect(errorOfOperation('x', { id: '1', status: 'Running', status_code: 103, err: '' })).toBeUndefined();
  expect(errorOfOperation('x', { id: '1', status: 'Success', status_code: 200, err: '' })).toBeUndefined();
});

it.each([
  'Failed getting remote image info: Failed getting image: Get "https://images.example/streams/v1/index.json": dial tcp: lookup images.example: no such host',
  'Failed getting image: Get "https://images.example/streams/v1/images.json": context deadline exceeded (Client.Timeout exceeded)',
  'Failed getting remote image info: Unable to fetch https://images.example/streams/v1/index.json: 503 Service Unavailable',
  'Failed getting image: read tcp 192.0.2.1:443: connection reset by peer',
])('takes an image server that is away for temporary, not for a mistake in the configuration: %s', (err) => {
  expect(codeOf(errorOfOperation('instance "c1"', operation(err)))).toBe('NODEPOOL_PROVIDER_UNAVAILABLE');
  expect(codeOf(errorOfAnswer(CREATE, 400, err))).toBe('NODEPOOL_PROVIDER_UNAVAILABLE');
});
