import { describe, expect, it } from 'vitest';
import { negotiate } from './accept.js';

describe('negotiate', () => {
  it.each([
    [undefined, 'text'],
    ['', 'text'],
    ['nonsense', 'text'],
    ['*/*', 'text'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text'],
    ['application/json', 'json'],
    ['Application/JSON; charset=utf-8', 'json'],
    ['application/*', 'json'],
    ['application/json, text/plain, */*', 'text'],
    ['application/json, text/plain;q=0.9, */*;q=0.5', 'json'],
    ['text/*;q=0.1, application/json;q=0.2', 'json'],
    ['text/*, text/plain;q=0, text/html;q=0, application/json;q=0.2', 'json'],
    ['image/png', undefined],
    ['application/json;q=0', undefined],
  ])('answers Accept: %s with %s', (accept, expected) => {
    expect(negotiate(accept)).toBe(expected);
  });
});
