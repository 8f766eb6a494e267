import { expect, it } from 'vitest';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { ConfigError, LaunchError, LockLostError, QuotaError, statsdKeyOf, TimeoutError } from './errors.js';

it.each([
  [new LaunchError('keyscan', 'x'), 'error.keyscan'],
  [new LaunchError('address', 'x'), 'error.ipadd'],
  [new QuotaError('x'), 'error.quota'],
  [new TimeoutError('x', { operation: 'create', timeoutMs: 5 }), 'error.servercreatetimeout'],
  [new TimeoutError('x'), 'error.nodepool'],
  [new LockLostError('x'), 'error.zksession'],
  [new QuotaError('x', { statsdKey: 'error.ssh' }), 'error.ssh'],
  [new Error('x'), 'error.unknown'],
  ['x', 'error.unknown'],
])('%s counts as %s', (error, key) => {
  expect(statsdKeyOf(error)).toBe(key);
});

it('keeps code, name, cause and problems', () => {
  const cause = new Error('why');
  const error = new ConfigError('x', [], { cause });

  expect(isNodepoolError(error, 'NODEPOOL_CONFIG')).toBe(true);
  expect(error).toMatchObject({ name: 'ConfigError', cause, problems: [] });
});
