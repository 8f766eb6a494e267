import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { LeaseOverError, NodepoolClientError, RefusedError, UnreachableError } from './errors.js';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

it('names every code that the server may answer to a lease in the README', () => {
  const files = [
    'launcher/src/web/api/lease-operations.ts',
    'launcher/src/web/api/lease-calls.ts',
    'launcher/src/web/api/lease-access.ts',
    'daemon/src/web/gate.ts',
  ];
  const codes = files.flatMap((file) =>
    [...read(file).matchAll(/new ApiError\(\s*\d+,\s*'([\w-]+)'/g)].map(([, code]) => code),
  );

  expect(codes.length).toBeGreaterThan(15);
  expect([...new Set(codes)].filter((code) => !read('client/README.md').includes(`\`${code}\``))).toEqual([]);
});

it('has classes with their own names and codes', () => {
  const errors = [
    new RefusedError(403, 'priority', 'no'),
    new UnreachableError('no', false),
    new LeaseOverError('lease-lost', 'id', 'no'),
  ];

  expect(errors.map(({ name, code }) => [name, code])).toEqual([
    ['RefusedError', 'priority'],
    ['UnreachableError', 'unreachable'],
    ['LeaseOverError', 'lease-lost'],
  ]);
  expect(errors.every((error) => error instanceof NodepoolClientError)).toBe(true);
});
