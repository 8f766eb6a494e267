// docs/conditions.md is what the code says of conditions, and no type says too little.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { conditionLists, findTypes, type DocumentedType } from './condition-docs.mjs';
import { renderPage } from './config-docs.mjs';

/** Sources are loaded by address: scripts do not import the inside of packages. */
const load = (file: string) => import(new URL(`../${file}`, import.meta.url).href) as Promise<Record<string, unknown>>;

const types = await findTypes(load);
const { ERROR_REASONS } = await load('packages/core/src/conditions/error-reason.ts');
const errorReasons = ERROR_REASONS as Record<string, DocumentedType>;

it('docs/conditions.md has the lists as they are now; otherwise run: npm run docs', async () => {
  const page = readFileSync(new URL('../docs/conditions.md', import.meta.url), 'utf8');

  expect(page).toBe(await renderPage(page, conditionLists({ types, errorReasons })));
});

it('no type is in two files', () => {
  const names = types.map(([name]) => name);

  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

it.each(types)('%s says what it means and what helps', (_name, { meaning, nextStep, reasons }) => {
  expect(meaning).toMatch(/^\S.*[^.]$/);
  expect(nextStep).not.toBe('');
  expect(reasons === 'errors' || Object.keys(reasons).length > 0).toBe(true);
});
