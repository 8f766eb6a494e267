// test.mjs [all|slow|unit|e2e|kubernetes|openstack|incus|kills|image [ARGUMENTS OF VITEST]]
//   without an argument  checks, and all tests but the slow ones
//   slow                 the slow tests, whose files end in .slow.test.ts
//   all                  both
//   unit, e2e            the unit and integration tests, or the end-to-end tests
//   kubernetes           on a real Kubernetes control plane, built once (3 GB, ten minutes)
//   incus                on a real LXD (100 MB of packages, some minutes)
//   kills                launchers that are killed, stopped and replaced; NODEPOOL_KILLS_MINUTES, NODEPOOL_KILLS_SEED
//   openstack, image     on a real OpenStack (700 MB, an hour), the real image of the builder's README (downloads Debian)
// The last line is `N passed, N failed`; the exit status is 0 only when nothing failed. A failing stage ends the run.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { runChecks } from './checks.mjs';
import { bin, ensureBuilt, root } from './ensure.mjs';

const cores = availableParallelism();
/**
 * Workers: one a core for unit tests, which compute; one more for end-to-end tests, which mostly wait for sessions to expire.
 */
const STAGES = {
  unit: ['--project', '!e2e*', `--maxWorkers=${cores}`],
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
};
/** Files that are named at the end of a stage. */
const SLOWEST = 5;

const total = { passed: 0, failed: 0 };

function finish() {
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exit(total.failed === 0 ? 0 : 1);
}

function readReport(reportFile) {
  try {
    return JSON.parse(readFileSync(reportFile, 'utf8'));
  } catch (error) {
    console.error(`vitest left no report: ${error.message}`);
    return { numPassedTests: 0, numFailedTests: 0, testResults: [] };
  }
}

/** Adds up what vitest wrote; a run that broke without a failed test counts as one failure. */
function count(report, status) {
  const brokenFiles = report.testResults.filter((f) => f.status === 'failed' && f.assertionResults.length === 0).length;
  const failed = report.numFailedTests + brokenFiles;
  total.passed += report.numPassedTests;
  total.failed += failed === 0 && status !== 0 ? 1 : failed;
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

function runStage(name, tests, args) {
  const started = Date.now();
  const dir = mkdtempSync(join(tmpdir(), 'nodepool-test-'));
  const reportFile = join(dir, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  try {
    const argv = [bin('vitest/vitest.mjs'), 'run', ...args, ...reporters];
    const env = { ...process.env, NODEPOOL_TESTS: tests };
    const { status } = spawnSync(process.execPath, argv, { cwd: root, stdio: 'inherit', env });
    const report = readReport(reportFile);
    count(report, status);
    console.log(`${name}: ${seconds(Date.now() - started)}; slowest: ${slowest(report)}`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  if (total.failed > 0) finish();
}

const [argument = 'quick', ...more] = process.argv.slice(2);
const run = RUNS[argument];
if (run === undefined) {
  console.error(`usage: test.mjs [${Object.keys(RUNS).join('|')}]`);
  process.exit(2);
}
await ensureBuilt();
if (run.isChecked) {
  total.failed += (await runChecks()).length;
  if (total.failed > 0) finish();
}
for (const name of run.stages) runStage(name, run.tests, [...STAGES[name], ...more]);
if (argument === 'quick') console.log('Not run: npm run test:slow, some 20 minutes.');
if (argument === 'all' || argument === 'slow') {
  console.log(
    'Not run, as root: npm run test:openstack (700 MB, an hour), npm run test:incus (some minutes), ' +
      'npm run test:image (downloads Debian).',
  );
}
finish();
