import { expect, it } from 'vitest';
import { parseDuration, parseMoment } from './duration.js';
import { UsageError } from './usage-error.js';

it.each([
  ['90', 90_000],
  ['0.5s', 500],
  ['1h30m', 5_400_000],
  ['3650d', 315_360_000_000],
])('%s is %i ms', (text, ms) => {
  expect(parseDuration(text, '--for')).toBe(ms);
});

it.each([
  ['', '--for needs a duration'],
  ['-1s', '--for needs a duration'],
  ['1h later', '--for needs a duration'],
  ['3651d', '--for takes at most 3650d'],
  ['9'.repeat(400), '--for takes at most 3650d'],
])('%.20s is refused', (text, message) => {
  expect(() => parseDuration(text, '--for')).toThrow(UsageError);
  expect(() => parseDuration(text, '--for')).toThrow(message);
});

it('accepts an age or a time', () => {
  expect(parseMoment('1h', '--since')(7_200_000)).toBe(3_600_000);
  expect(parseMoment('1970-01-01T01:00Z', '--since')(0)).toBe(3_600_000);
  expect(() => parseMoment('2026-13-01', '--since')).toThrow('--since needs a duration such as 24h, or a time');
});
