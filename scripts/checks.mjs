// Everything that is checked without running the software.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { text } from 'node:stream/consumers';
import { bin, root } from './ensure.mjs';

const published = readdirSync(`${root}packages`).filter(
  (name) => !JSON.parse(readFileSync(`${root}packages/${name}/package.json`, 'utf8')).private,
);

/** Folders whose imports are looked after. */
const SOURCES = ['packages', 'tools', 'e2e', 'quickstart', 'simulator'];

/** The template is a package within a package on purpose, of which publint warns. */
const strictness = (name) => (name === 'create-driver' ? [] : ['--strict']);

/** The longest first: they run beside each other. */
const CHECKS = [
  ['eslint', 'eslint/bin/eslint.js', '.', '--max-warnings=0'],
  ['types of tests', 'typescript/bin/tsc', '-p', 'tsconfig.check.json'],
  ['types of the status page', 'typescript/bin/tsc', '-p', 'packages/daemon/page/tsconfig.json'],
  ['prettier', 'prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'],
  ['dependency-cruiser', 'dependency-cruiser/bin/dependency-cruise.mjs', ...SOURCES, '--config'],
  ['knip', 'knip/bin/knip.js', '--no-progress'],
  ['commits', 'scripts/commits.mjs'],
  ...published.map((name) => [`publint ${name}`, 'publint/src/cli.js', `packages/${name}`, ...strictness(name)]),
];

/** Runs one check. @returns whether it passed, what it printed, and how long it took */
async function runCheck([name, program, ...args]) {
  const started = Date.now();
  const path = program.startsWith('scripts/') ? `${root}${program}` : bin(program);
  const child = spawn(process.execPath, [path, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  const [output, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  if (status !== 0) console.log(`${output}${errors}`);
  return status === 0;
}

/** Runs all checks, one on each core, and returns the names of those that failed. */
export async function runChecks() {
  const waiting = [...CHECKS];
  const failed = [];
  const work = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      if (!(await runCheck(check))) failed.push(check[0]);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return failed;
}
