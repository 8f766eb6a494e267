import { expect, it } from 'vitest';
import { statsdTarget } from './service-metrics.js';

it('sends nothing when neither variable is set', () => {
  expect(statsdTarget({})).toBeUndefined();
  expect(statsdTarget({ STATSD_HOST: '', STATSD_PORT: ' ' })).toBeUndefined();
});

it.each([
  [{ STATSD_HOST: 'stats.example.com' }, { host: 'stats.example.com', port: 8125 }],
  [{ STATSD_PORT: '9125' }, { host: 'localhost', port: 9125 }],
  [
    { STATSD_HOST: '::1', STATSD_PORT: '1', STATSD_NORMALIZE: '1' },
    { host: '::1', port: 1, normalize: true },
  ],
])('reads %o', (env, target) => {
  expect(statsdTarget(env)).toEqual({ normalize: false, ...target });
});

it.each(['abc', '0', '70000', '8125x', '-1'])('refuses the port %s, and says what is expected', (port) => {
  expect(() => statsdTarget({ STATSD_PORT: port })).toThrow(/STATSD_PORT is .*1-65535/);
});
