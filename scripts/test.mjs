// test.mjs [unit|e2e|openstack|image [ARGUMENTS OF VITEST]]: everything (checks, unit and integration tests, end-to-end tests), or
// one kind of tests alone. Those on a real OpenStack (700 MB, half an hour or more) and the real image of the builder's README (Debian
// from the network, minutes) run when they are asked for.
// The last line is `N passed, N failed`; the exit status is 0 only when nothing failed. A failing stage ends the run.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { runChecks } from './checks.mjs';
import { bin, ensureBuilt, root } from './ensure.mjs';

const cores = availableParallelism();
/**
 * Unit tests compute: a worker a core. End-to-end tests wait, mostly for a session to end, and each file has servers, ports and
 * folders of its own: one worker more, so that none is slowed down by the others' servers.
 */
const STAGES = {
  unit: ['--project', '!e2e*', `--maxWorkers=${cores}`],
  e2e: ['--project', 'e2e', `--maxWorkers=${Math.min(cores + 1, 8)}`],
  openstack: ['--project', 'e2e-openstack'],
  image: ['--project', 'e2e-image'],
};
/** Stages that run only when they are named. */
const ON_DEMAND = ['openstack', 'image'];
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

function runStage(name, args) {
  const started = Date.now();
  const dir = mkdtempSync(join(tmpdir(), 'nodepool-test-'));
  const reportFile = join(dir, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  try {
    const argv = [bin('vitest/vitest.mjs'), 'run', ...args, ...reporters];
    const { status } = spawnSync(process.execPath, argv, { cwd: root, stdio: 'inherit' });
    const report = readReport(reportFile);
    count(report, status);
    console.log(`${name}: ${seconds(Date.now() - started)}; slowest: ${slowest(report)}`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  if (total.failed > 0) finish();
}

const [only, ...more] = process.argv.slice(2);
if (only !== undefined && !(only in STAGES)) {
  console.error(`usage: test.mjs [${Object.keys(STAGES).join('|')}]`);
  process.exit(2);
}
ensureBuilt();
if (only === undefined) {
  const failedChecks = runChecks();
  total.failed += failedChecks.length;
  if (failedChecks.length > 0) finish();
}
for (const [name, args] of Object.entries(STAGES)) {
  if (only === undefined ? !ON_DEMAND.includes(name) : only === name) runStage(name, [...args, ...more]);
}
if (only === undefined)
  console.log(
    'Not run, as root: npm run test:openstack on a real OpenStack (700 MB, half an hour), npm run test:image (downloads Debian).',
  );
finish();
