// docs/conditions.md is what the table of types says, and no type says too little.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { conditionLists, type DocumentedType } from './condition-docs.mjs';
import { renderPage } from './config-docs.mjs';

/** Sources are loaded by address: scripts do not import the inside of packages. */
const load = (file: string) =>
  import(new URL(`../packages/core/src/conditions/${file}`, import.meta.url).href) as Promise<Record<string, unknown>>;

const types = (await load('condition-types.ts'))['CONDITION_TYPES'] as Record<string, DocumentedType>;
const errorReasons = (await load('error-reason.ts'))['ERROR_REASONS'] as Record<string, DocumentedType>;

it('docs/conditions.md has the lists as they are now; otherwise run: npm run docs', async () => {
  const page = readFileSync(new URL('../docs/conditions.md', import.meta.url), 'utf8');

  expect(page).toBe(await renderPage(page, conditionLists({ types, errorReasons })));
});

it.each(Object.entries(types))('%s says what it means and what helps', (_name, { meaning, nextStep, reasons }) => {
  expect(meaning).toMatch(/^\S.*[^.]$/);
  expect(nextStep).not.toBe('');
  expect(reasons === 'errors' || Object.keys(reasons).length > 0).toBe(true);
});
