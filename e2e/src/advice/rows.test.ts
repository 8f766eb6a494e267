import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { NOT_TRIED } from './not-tried.js';
import { PROVEN_ELSEWHERE } from './proven-elsewhere.js';
import { ROWS } from './rows.js';

const ROOT = new URL('../../../', import.meta.url);
/** Sources are loaded by address, as packages do not export them all. */
const load = (file: string) =>
  import(new URL(`packages/core/src/conditions/${file}`, ROOT).href) as Promise<Record<string, unknown>>;

interface DocumentedType {
  readonly reasons: Readonly<Record<string, string>> | 'errors';
}

const types = (await load('condition-types.ts'))['CONDITION_TYPES'] as Record<string, DocumentedType>;
const errors = (await load('error-reason.ts'))['ERROR_REASONS'] as Record<string, unknown>;
const all = Object.entries(types).flatMap(([type, { reasons }]) =>
  Object.keys(reasons === 'errors' ? errors : reasons).map((reason) => `${type} ${reason}`),
);
const tried = [...ROWS.map(({ type, reason }) => `${type} ${reason}`), ...Object.keys(PROVEN_ELSEWHERE)];
const notTried = Object.entries(NOT_TRIED).flatMap(([type, reasons]) => reasons.map((reason) => `${type} ${reason}`));

it('the advice of each reason of each condition is followed by a row, by another test, or is known not to be', () => {
  expect(all.filter((each) => !tried.includes(each) && !notTried.includes(each))).toEqual([]);
});

it('no reason is named that does not exist, or that is tried now', () => {
  expect([...tried, ...notTried].filter((each) => !all.includes(each))).toEqual([]);
  expect(notTried.filter((each) => tried.includes(each))).toEqual([]);
});

it.each(Object.entries(PROVEN_ELSEWHERE))('%s has its test', (_name, { file, test }) => {
  expect(readFileSync(new URL(file, ROOT), 'utf8')).toContain(test);
});
