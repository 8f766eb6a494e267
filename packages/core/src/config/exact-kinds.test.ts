import { expect, it } from 'vitest';
import { linesAbout } from '../../test/support/load-config.js';

const about = (yaml: string, mode: 'validate' | 'service' = 'validate', env = {}) => linesAbout({ yaml, mode, env });

it.each([
  ['max-hold-age: 5.0', 'expected an integer, got the number 5.0 (write 5)'],
  ['build-log-dir: 2024-01-31', 'expected text, got the date 2024-01-31 (put it in quotes)'],
])('refuses %s as the original validator does', async (line, message) => {
  expect((await about(line)).join()).toContain(message);
});

it.each(['max-hold-age: 5', "build-log-dir: '2024-01-31'", 'build-log-dir: 2024-13'])('accepts %s', async (line) => {
  expect((await about(line)).filter((text) => text.includes('expected'))).toEqual([]);
});

it('reports nothing in a service, which accepts the value', async () => {
  expect(await about('max-hold-age: 5.0', 'service')).toEqual([]);
});

it('does not quote a value that may come from the environment', async () => {
  const [line] = await about('max-hold-age: %(NODEPOOL_AGE)', 'validate', { NODEPOOL_AGE: '5.0' });

  expect(line).toContain('expected an integer, got something else (write 5)');
});
