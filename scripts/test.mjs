// test.mjs [all|slow|unit|e2e|real|kubernetes|openstack|incus|kills|image [ARGUMENTS OF VITEST]]
//   without an argument  checks, and all tests but the slow ones
//   slow                 the slow tests, whose files end in .slow.test.ts
//   all                  both
//   unit, e2e            the unit and integration tests, or the end-to-end tests
//   kubernetes           on a real Kubernetes control plane, built once (3 GB, ten minutes)
//   incus                on a real LXD (100 MB of packages, some minutes)
//   kills                launchers that are killed, stopped and replaced; NODEPOOL_KILLS_MINUTES, NODEPOOL_KILLS_SEED
//   openstack, image     on a real OpenStack (700 MB, an hour), the real image of the builder's README (downloads Debian)
//   real                 openstack, kubernetes, incus and image one after the other, with empty caches; ends with a table
// The last line is `N passed, N failed`; the exit status is 0 only when nothing failed. A failing stage ends the run, except of `real`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { runChecks } from './checks.mjs';
import { bin, ensureBuilt, root } from './ensure.mjs';
import { countTests, resultTable } from './results.mjs';

const cores = availableParallelism();
/**
 * Workers: two a core for unit tests, whose processes and servers make them wait for more than half of their time; one more than cores
 * for end-to-end tests, which start several processes each.
 */
const STAGES = {
  unit: ['--project', '!e2e*', `--maxWorkers=${2 * cores}`],
  e2e: ['--project', 'e2e', `--maxWorkers=${Math.min(cores + 1, 8)}`],
  kubernetes: ['--project', 'e2e-kubernetes'],
  openstack: ['--project', 'e2e-openstack'],
  incus: ['--project', 'e2e-incus'],
  kills: ['--project', 'e2e', 'e2e/src/cases/kills.slow.test.ts'],
  image: ['--project', 'e2e-image'],
};
/** What an argument runs: stages, with or without checks, and which tests. */
const RUNS = {
  quick: { isChecked: true, stages: ['unit', 'e2e'], tests: 'quick' },
  slow: { isChecked: false, stages: ['unit', 'e2e'], tests: 'slow' },
  all: { isChecked: true, stages: ['unit', 'e2e'], tests: 'all' },
  unit: { isChecked: false, stages: ['unit'], tests: 'all' },
  e2e: { isChecked: false, stages: ['e2e'], tests: 'all' },
  kubernetes: { isChecked: false, stages: ['kubernetes'], tests: 'all' },
  openstack: { isChecked: false, stages: ['openstack'], tests: 'all' },
  incus: { isChecked: false, stages: ['incus'], tests: 'all' },
  kills: { isChecked: false, stages: ['kills'], tests: 'all' },
  image: { isChecked: false, stages: ['image'], tests: 'all' },
  // the one with what most changes cover first
  real: { isChecked: false, stages: ['openstack', 'kubernetes', 'incus', 'image'], tests: 'all', isAll: true },
};
/** Files that are named at the end of a stage. */
const SLOWEST = 5;

/** Results of the stages that ran. */
const results = [];
let failedChecks = 0;

function finish() {
  const sum = (key) => results.reduce((all, stage) => all + stage[key], 0);
  const failed = failedChecks + sum('failed');
  console.log(`${sum('passed')} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

function readReport(reportFile) {
  try {
    return JSON.parse(readFileSync(reportFile, 'utf8'));
  } catch (error) {
    console.error(`vitest left no report: ${error.message}`);
    return { numPassedTests: 0, numFailedTests: 0, testResults: [] };
  }
}

const seconds = (ms) => `${(ms / 1000).toFixed(0)} s`;

function slowest({ testResults }) {
  return testResults
    .map(({ name, startTime, endTime }) => ({ name: relative(root, name), ms: endTime - startTime }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST)
    .map(({ name, ms }) => `${name} ${seconds(ms)}`)
    .join(', ');
}

function runStage(name, args, env) {
  const started = Date.now();
  const dir = mkdtempSync(join(tmpdir(), 'nodepool-test-'));
  const reportFile = join(dir, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  try {
    const argv = [bin('vitest/vitest.mjs'), 'run', ...args, ...reporters];
    const { status } = spawnSync(process.execPath, argv, { cwd: root, stdio: 'inherit', env });
    const report = readReport(reportFile);
    const ms = Date.now() - started;
    results.push({ name, ...countTests(report, status), ms });
    console.log(`${name}: ${seconds(ms)}; slowest: ${slowest(report)}`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The environment of a run with nothing downloaded or built: what the tests on real services keep goes into an empty folder. */
const emptyCaches = (dir) => ({
  ...process.env,
  NODEPOOL_OPENSTACK_DIR: undefined,
  NODEPOOL_KUBERNETES_DIR: join(dir, 'kubernetes'),
  DIB_IMAGE_CACHE: join(dir, 'image-create'),
  DIB_LOCKFILES: join(dir, 'dib-lockfiles'),
});

/** Runs all stages, also after one that failed. */
function runAll(stages, args, tests) {
  const dir = mkdtempSync(join(tmpdir(), 'nodepool-caches-'));
  try {
    const env = { ...emptyCaches(dir), NODEPOOL_TESTS: tests };
    for (const name of stages) runStage(name, [...STAGES[name], ...args], env);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  console.log(resultTable(results).join('\n'));
}

const [argument = 'quick', ...more] = process.argv.slice(2);
const run = RUNS[argument];
if (run === undefined) {
  console.error(`usage: test.mjs [${Object.keys(RUNS).join('|')}]`);
  process.exit(2);
}
await ensureBuilt();
if (run.isChecked) {
  failedChecks = (await runChecks()).length;
  if (failedChecks > 0) finish();
}
if (run.isAll) {
  runAll(run.stages, more, run.tests);
  finish();
}
for (const name of run.stages) {
  runStage(name, [...STAGES[name], ...more], { ...process.env, NODEPOOL_TESTS: run.tests });
  if (results.some(({ failed }) => failed > 0)) finish();
}
if (argument === 'quick') console.log('Not run: npm run test:slow, some 20 minutes.');
if (argument === 'all' || argument === 'slow') {
  console.log(
    'Not run, as root: npm run test:real, which are test:openstack, test:kubernetes, test:incus and test:image (90 minutes).',
  );
}
finish();
