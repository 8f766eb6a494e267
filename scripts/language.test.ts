// Phrases that this project does not use: they make a reader guess which thing is meant. CONTRIBUTING.md says what to write instead.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Each phrase as a pattern, with what to write in its place. */
const PHRASES: readonly (readonly [pattern: string, instead: string])[] = [
  ['for ever', 'forever, without a limit'],
  ['nobody', 'name who: no client, no launcher'],
  ['somebody', 'name who: a user, another process'],
  ['whoever', 'the user who, the process that'],
  ['anew', 'again'],
  ['lest', 'so that ... not'],
  ['what is left', 'the rest, remaining ...'],
  ['is left alone', 'is not changed'],
  ['is told', 'receives, reads, is notified'],
  ['is had', 'exists'],
  ['to be had', 'available'],
  ['of its own accord', 'by itself'],
  ['at the most', 'at most'],
  ['at the least', 'at least'],
  ['goes on', 'continues'],
  ['mends', 'repairs, recovers'],
  ['wants to know', 'asks for, reads'],
  ["others'(?= [a-z])", 'of other launchers, of other users'],
  ['under way', 'in progress'],
  ['stands in', 'is in'],
  ['room (?:for|again|left|enough)|(?:no|enough|more|has|makes?) room', 'capacity, space'],
  ['(?<=^|[.;:(] )one that', 'name the thing'],
];

/** What a user name, a quotation, a file format or a published name says. */
const KEPT: readonly (readonly [file: RegExp, line: RegExp])[] = [
  [/^scripts\/language\.test\.ts$/, /./],
  [/^packages\/zk-protocol\/test\/server\/operands\.ts$/, /id: 'nobody'/],
  [/^package-lock\.json$|^LICENSE$|\/LICENSE$/, /./],
];

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.(?:ts|mts|mjs|cjs|js|md|json|ya?ml|sh|css|html|service|conf|1|8|env)$/.test(file))
  .filter((file) => existsSync(`${root}${file}`));

const isKept = (file: string, line: string): boolean =>
  KEPT.some(([inFile, inLine]) => inFile.test(file) && inLine.test(line));

/** Lines of all files that contain one of the phrases, as `file:line: phrase`. */
function findPhrases(): string[] {
  const patterns = PHRASES.map(([pattern, instead]) => ({
    pattern: new RegExp(`(?<![\\w-])(?:${pattern})(?![\\w-])`, 'i'),
    instead,
  }));
  return files.flatMap((file) =>
    readFileSync(`${root}${file}`, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        patterns
          .filter(({ pattern }) => pattern.test(line) && !isKept(file, line))
          .map(({ pattern, instead }) => `${file}:${index + 1}: "${pattern.exec(line)?.[0]}", write ${instead}`),
      ),
  );
}

it('uses none of the phrases that make a reader guess', () => {
  expect(findPhrases()).toEqual([]);
});

/** Longest line of a document, characters. Examples of output may be longer. */
const LONGEST_LINE = 140;

it('has no line in documents that is too long to read in a terminal', () => {
  const long = files
    .filter((file) => file.endsWith('.md') && !file.includes('/api/'))
    .flatMap((file) => {
      let isExample = false;
      return readFileSync(`${root}${file}`, 'utf8')
        .split('\n')
        .flatMap((line, index) => {
          if (/^\s*(?:- )?```/.test(line)) isExample = !isExample;
          return line.length > LONGEST_LINE && !isExample ? [`${file}:${index + 1}`] : [];
        });
    });

  expect(long).toEqual([]);
});
