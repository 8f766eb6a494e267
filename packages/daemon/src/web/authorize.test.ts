import { expect, it } from 'vitest';
import { authorize } from './authorize.js';

const TOKENS = [
  { name: 'alice', token: 'the-token-of-alice' },
  { name: 'bob', token: 'the-token-of-bob-is-longer' },
];

it.each([
  ['Bearer the-token-of-alice', 'alice'],
  ['bearer the-token-of-bob-is-longer', 'bob'],
])('%s is %s', (header, name) => {
  expect(authorize(header, TOKENS)).toBe(name);
});

it.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Basic the-token-of-alice',
  'Bearer the-token-of-bob',
  'the-token-of-alice',
])('%j is refused', (header) => {
  expect(() => authorize(header, TOKENS)).toThrow(expect.objectContaining({ status: 401, code: 'bad-token' }));
});

it('without tokens no one may write, whatever is sent', () => {
  expect(() => authorize('Bearer ', [])).toThrow(expect.objectContaining({ status: 403, code: 'writes-off' }));
});
