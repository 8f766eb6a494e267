// Each source file of more than 60 lines has a test of its name beside it, or a line in docs/testing.md that names the test that covers it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Files up to this length need no test of their own, lines. */
const SHORT = 60;
/** At most this share of the longer files may be tested elsewhere. */
const MOST_ELSEWHERE = 0.2;

const folders = ['packages', 'tools'].flatMap((parent) =>
  readdirSync(join(root, parent)).map((name) => join(root, parent, name, 'src')),
);

/** Source files of more than {@link SHORT} lines, from the top folder. */
const sources = [...folders, join(root, 'simulator/src'), join(root, 'quickstart/src')]
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.endsWith('.d.ts'))
  .filter((file) => readFileSync(file, 'utf8').trimEnd().split('\n').length > SHORT)
  .map((file) => relative(root, file));

const hasOwnTest = (file: string): boolean =>
  ['.test.ts', '.slow.test.ts'].some((end) => existsSync(join(root, file.replace(/\.ts$/, end))));

/** The list in the page: a source file, the test that covers it, the reason. */
const rows = [
  ...readFileSync(join(root, 'docs/testing.md'), 'utf8').matchAll(/^- `([^`]+\.ts)`\n {2}`([^`]+)`: (.+)$/gm),
].map(([, file = '', test = '', reason = '']) => ({ file, test, reason }));

it('each longer source file has a test of its name, or a line in docs/testing.md', () => {
  const listed = new Set(rows.map(({ file }) => file));

  expect(sources.filter((file) => !hasOwnTest(file) && !listed.has(file))).toEqual([]);
});

it('the list names only files without a test of their name, tests that exist, and a reason', () => {
  const wrong = rows.filter(
    ({ file, test, reason }) =>
      !sources.includes(file) || hasOwnTest(file) || !existsSync(join(root, test)) || reason === '',
  );

  expect(wrong).toEqual([]);
});

it('at most a fifth of the longer source files is tested elsewhere', () => {
  expect(rows.length / sources.length).toBeLessThanOrEqual(MOST_ELSEWHERE);
});
