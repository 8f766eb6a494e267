import { isNodepoolError, RateLimitedError } from '@nodepool/core';
import { expect, it } from 'vitest';
import { errorOfAnswer, errorOfOperation, StockOutError } from './errors.js';

const failed = (code: string, status = 0) => ({
  name: 'operation-1',
  status: 'DONE',
  httpErrorStatusCode: status,
  error: { errors: [{ code, message: 'why' }] },
});

it.each([
  ['ZONE_RESOURCE_POOL_EXHAUSTED', 'NODEPOOL_CAPACITY'],
  ['ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS', 'NODEPOOL_CAPACITY'],
  ['IP_SPACE_EXHAUSTED', 'NODEPOOL_CAPACITY'],
  ['QUOTA_EXCEEDED', 'NODEPOOL_QUOTA'],
  ['PERMISSIONS_ERROR', 'NODEPOOL_CONFIG'],
  ['CONDITION_NOT_MET', 'NODEPOOL_CONFIG'],
  ['INVALID_FIELD_VALUE', 'NODEPOOL_CONFIG'],
  ['RESOURCE_NOT_FOUND', 'NODEPOOL_NOT_FOUND'],
  ['RESOURCE_NOT_READY', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  ['RATE_LIMIT_EXCEEDED', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  ['INTERNAL_ERROR', 'NODEPOOL_LAUNCH_STATUS'],
  ['SOMETHING_NEW', 'NODEPOOL_LAUNCH_STATUS'],
])('sorts an operation that failed with %s: %s', (code, expected) => {
  const error = errorOfOperation('instance "np1"', failed(code));

  expect(isNodepoolError(error) && error.code).toBe(expected);
  expect(error?.message).toBe(`instance "np1": ${code}: why`);
});

it('distinguishes capacity of a zone from addresses of a network, and a rate limit from an outage', () => {
  expect(errorOfOperation('x', failed('ZONE_RESOURCE_POOL_EXHAUSTED', 503))).toBeInstanceOf(StockOutError);
  expect(errorOfOperation('x', failed('IP_SPACE_EXHAUSTED'))).not.toBeInstanceOf(StockOutError);
  expect(errorOfOperation('x', failed('RATE_LIMIT_EXCEEDED'))).toBeInstanceOf(RateLimitedError);
});

it('finds nothing wrong with an operation that succeeded, or has not ended', () => {
  expect(errorOfOperation('x', { name: 'o', status: 'DONE' })).toBeUndefined();
  expect(errorOfOperation('x', { name: 'o', status: 'RUNNING' })).toBeUndefined();
});

it('explains what to do about a missing permission', () => {
  const refusal = { status: 403, code: 'forbidden', message: "Required 'compute.instances.create' permission" };

  expect(errorOfAnswer('POST projects/p/zones/z/instances', refusal).message).toBe(
    "POST projects/p/zones/z/instances: 403 forbidden: Required 'compute.instances.create' permission " +
      '(see the permissions in docs/gce.md)',
  );
});
