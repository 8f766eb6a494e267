// Looks at the commits that were made after this check: conventional type, subject of at most 72 characters, and a body that says why.
// A checkout without its history has nothing to look at.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { root } from './ensure.mjs';

const LONGEST_SUBJECT = 72;
const CONVENTIONAL = /^(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([a-z0-9,-]+\))?!?: \S/;

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  return status === 0 ? stdout : '';
}

/** What is wrong with a commit message; empty when nothing is. */
export function problemsOf(subject, body) {
  return [
    ...(CONVENTIONAL.test(subject) ? [] : ['the subject has no conventional type, e.g. "fix(core): "']),
    ...(subject.length <= LONGEST_SUBJECT
      ? []
      : [`the subject has ${subject.length} characters, ${LONGEST_SUBJECT} at most`]),
    ...(body.trim() === '' ? ['it has no body that says why'] : []),
  ];
}

/** Commits since this file was added, merges and version commits of lerna aside. */
function commitsSinceCheck() {
  const added = git('log', '--diff-filter=A', '--format=%H', '--', 'scripts/commits.mjs').trim().split('\n').at(-1);
  if (!added) return [];
  return git('log', '--no-merges', '--format=%H%x1f%s%x1f%b%x1e', `${added}..HEAD`)
    .split('\x1e')
    .map((entry) => entry.trim().split('\x1f'))
    .filter(([hash, subject]) => hash !== '' && subject !== 'chore(release): publish')
    .map(([hash, subject, body = '']) => ({ hash, subject, body }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wrong = commitsSinceCheck().flatMap(({ hash, subject, body }) =>
    problemsOf(subject, body).map((problem) => `${hash.slice(0, 8)} ${subject}: ${problem}`),
  );
  for (const line of wrong) console.error(line);
  if (wrong.length > 0) process.exit(1);
}
