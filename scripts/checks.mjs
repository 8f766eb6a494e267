// Everything that is checked without running the software.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { bin, root } from './ensure.mjs';

const published = readdirSync(`${root}packages`).filter(
  (name) => !JSON.parse(readFileSync(`${root}packages/${name}/package.json`, 'utf8')).private,
);

/** Folders whose imports are looked after. */
const SOURCES = ['packages', 'tools', 'e2e', 'quickstart', 'simulator'];

/** The template is a package within a package on purpose, of which publint warns. */
const strictness = (name) => (name === 'create-driver' ? [] : ['--strict']);

const CHECKS = [
  ['types of tests', 'typescript/bin/tsc', '-p', 'tsconfig.check.json'],
  ['types of the status page', 'typescript/bin/tsc', '-p', 'packages/daemon/page/tsconfig.json'],
  ['eslint', 'eslint/bin/eslint.js', '.', '--max-warnings=0'],
  ['prettier', 'prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'],
  ['dependency-cruiser', 'dependency-cruiser/bin/dependency-cruise.mjs', ...SOURCES, '--config'],
  ['knip', 'knip/bin/knip.js', '--no-progress'],
  ...published.map((name) => [`publint ${name}`, 'publint/src/cli.js', `packages/${name}`, ...strictness(name)]),
];

/** Runs all checks, one after the other, and returns the names of those that failed. */
export function runChecks() {
  return CHECKS.filter(([name, program, ...args]) => {
    const started = Date.now();
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin(program), ...args], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, NO_COLOR: '1' },
    });
    console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
    if (status !== 0) console.log(`${stdout}${stderr}`);
    return status !== 0;
  }).map(([name]) => name);
}
