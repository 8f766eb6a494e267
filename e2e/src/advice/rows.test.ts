import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ROWS } from './rows.js';

const ROOT = new URL('../../../', import.meta.url);
/** Sources are loaded by address, as packages do not export them all. */
const load = (file: string) => import(new URL(file, ROOT).href) as Promise<Record<string, unknown>>;

interface DocumentedType {
  readonly reasons: Readonly<Record<string, string>> | 'errors';
}

type FindTypes = (from: typeof load) => Promise<[string, DocumentedType][]>;
const findTypes = (await load('scripts/condition-docs.mjs'))['findTypes'] as FindTypes;
const types = Object.fromEntries(await findTypes(load));
const errorReasons = await load('packages/core/src/conditions/error-reason.ts');
const errors = Object.keys(errorReasons['ERROR_REASONS'] as object);
const adviceFor = errorReasons['adviceFor'] as (reason: string, provider: string) => string;

interface Pair {
  readonly type: string;
  readonly reason: string;
}

const textOf = ({ type, reason }: Pair) => `${type} ${reason}`;
const all = Object.entries(types).flatMap(([type, { reasons }]) =>
  (reasons === 'errors' ? errors : Object.keys(reasons)).map((reason) => ({ type, reason })),
);

/** Conditions that tests elsewhere bring about, and end as advised: the line above such a test says `// Ends: TYPE REASON, ...`. */
function endedBy(folder: string): string[] {
  const files = readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' });
  const tests = files.filter((file) => file.endsWith('.test.ts') && !/(^|\/)(node_modules|dist)\//.test(file));
  const texts = tests.map((file) => readFileSync(new URL(`${folder}/${file}`, ROOT), 'utf8'));
  return texts.flatMap((text) =>
    [...text.matchAll(/^ *\/\/ Ends: (.+)$/gm)].flatMap(([, ended = '']) => ended.split(', ')),
  );
}

const tried = [...ROWS.map(textOf), ...endedBy('packages'), ...endedBy('e2e/src')];

/** A type with a text of its own for a class of errors. */
const OWN_TEXT: ReadonlySet<string> = new Set(['DeletionFails InstanceFailed']);
const isOfErrors = (pair: Pair) => types[pair.type]?.reasons === 'errors' && !OWN_TEXT.has(textOf(pair));
const triedOfErrors = all.filter((pair) => isOfErrors(pair) && tried.includes(textOf(pair)));

/**
 * Whether a test follows the advice of the pair. Where the reason is the class of an error, one function makes the advice of all types:
 * it is enough that the type is tried with one class, and the class with one type.
 */
function isTried(pair: Pair): boolean {
  if (tried.includes(textOf(pair))) return true;
  const { type, reason } = pair;
  const has = (matches: (other: Pair) => boolean) => triedOfErrors.some(matches);
  return isOfErrors(pair) && has((other) => other.type === type) && has((other) => other.reason === reason);
}

it('the advice of each reason of each condition is followed by a row, or by another test', () => {
  expect(all.filter((pair) => !isTried(pair)).map(textOf)).toEqual([]);
});

it('no reason is named that does not exist', () => {
  const known = all.map(textOf);
  expect(tried.filter((each) => !known.includes(each))).toEqual([]);
});

it.each(ROWS.filter(isOfErrors).map((row) => [textOf(row), row] as const))(
  '%s has the advice of its class of errors',
  (_name, { type, reason, advice }) => {
    const repeats = type === 'DeletionFails' ? '; nodepool delete 0000000001 tries again at once' : '';
    expect(`${adviceFor(reason, 'sky')}${repeats}`).toMatch(advice);
  },
);
