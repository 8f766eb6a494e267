import { expect, it } from 'vitest';
import { readRetryAfter } from './retry-after.js';

const NOW_MS = Date.parse('Fri, 31 Dec 1999 23:59:00 GMT');

it.each([
  ['7', 7_000],
  [' 7 ', 7_000],
  ['0.5', 500],
  ['0', 0],
  ['999999999999', 999_999_999_999_000],
  ['9'.repeat(400), Infinity],
  ['Fri, 31 Dec 1999 23:59:59 GMT', 59_000],
  ['Friday, 31-Dec-99 23:59:59 GMT', 59_000],
  ['Fri, 31 Dec 1999 23:00:00 GMT', 0],
])('"%s" asks for %d ms', (retryAfter, ms) => {
  expect(readRetryAfter({ retryAfter }, NOW_MS)).toBe(ms);
});

it.each([undefined, null, '', '-5', '-1e9', 'NaN', 'Infinity', '0x10', 'soon', 'Fri, 99 Foo'])(
  '"%s" says nothing',
  (retryAfter) => {
    expect(readRetryAfter({ retryAfter }, NOW_MS)).toBeUndefined();
  },
);

it('takes the clock of the server for a time that it computed', () => {
  const headers = { retryAfter: 'Sat, 01 Jan 2000 12:00:30 GMT', date: 'Sat, 01 Jan 2000 12:00:00 GMT' };

  expect(readRetryAfter(headers, NOW_MS)).toBe(30_000);
});
