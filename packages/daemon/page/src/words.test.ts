import { expect, it } from 'vitest';
import { actionInWords, causeInWords, count, toneOf, withoutSubject } from './words.js';

it('shows unknown causes and actions of other versions by their names', () => {
  expect(causeInWords('pool-full')).toBe('the pool is full');
  expect(causeInWords('some-new-rule')).toBe('some new rule');
  expect(actionInWords('some-action')).toBe('some-action');
});

it('removes the id of a request from a sentence that stands beside it', () => {
  expect(withoutSubject('Request 200-1 waits: full', '200-1')).toBe('Waits: full');
  expect(withoutSubject('Request 200-12 waits', '200-1')).toBe('Request 200-12 waits');
  expect(withoutSubject('', '200-1')).toBe('');
});

it('counts nouns', () => {
  expect([0, 1, 2].map((n) => count(n, 'host'))).toEqual(['0 hosts', '1 host', '2 hosts']);
});

it('has no tone for states it does not know', () => {
  expect([toneOf('ready'), toneOf('failed'), toneOf('new-state')]).toEqual(['good', 'bad', 'plain']);
});
