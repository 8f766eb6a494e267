import { expect, it } from 'vitest';
import { readPageFiles } from './page-files.js';

const files = readPageFiles();

it('is built, and takes less than 60 kB on the wire', () => {
  const bytes = [...files.values()].reduce((sum, { compressed }) => sum + compressed.length, 0);

  expect([...files.keys()]).toContain('/');
  expect([...files.values()].map(({ contentType }) => contentType.split(';')[0]).sort()).toEqual([
    'text/css',
    'text/html',
    'text/javascript',
  ]);
  expect(bytes).toBeLessThan(60_000);
});

it('loads nothing from elsewhere', () => {
  const links = [...files.values()].flatMap(
    ({ body }) => body.toString().match(/(?:src|href)="[^"]*"|url\([^)]*\)/g) ?? [],
  );

  expect(links.filter((link) => /https?:|"\/\//.test(link))).toEqual([]);
});

it('is not there where it has not been built', () => {
  expect(readPageFiles('/nowhere')).toEqual(new Map());
});
