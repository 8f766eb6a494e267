// test.mjs [unit|e2e]: everything (checks, unit and integration tests, end-to-end tests), or one kind of tests alone.
// The last line is `N passed, N failed`; the exit status is 0 only when nothing failed. A failing stage ends the run.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChecks } from './checks.mjs';
import { bin, ensureBuilt, root } from './ensure.mjs';

const STAGES = {
  unit: ['--project', '!e2e'],
  e2e: ['--project', 'e2e', '--no-file-parallelism'],
};

const total = { passed: 0, failed: 0 };

function finish() {
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exit(total.failed === 0 ? 0 : 1);
}

/** Adds up what vitest wrote; a run that broke without a failed test counts as one failure. */
function count(reportFile, status) {
  let report = { numPassedTests: 0, numFailedTests: 0, testResults: [] };
  try {
    report = JSON.parse(readFileSync(reportFile, 'utf8'));
  } catch (error) {
    console.error(`vitest left no report: ${error.message}`);
  }
  const brokenFiles = report.testResults.filter((f) => f.status === 'failed' && f.assertionResults.length === 0).length;
  const failed = report.numFailedTests + brokenFiles;
  total.passed += report.numPassedTests;
  total.failed += failed === 0 && status !== 0 ? 1 : failed;
}

function runStage(name, args) {
  const dir = mkdtempSync(join(tmpdir(), 'nodepool-test-'));
  const reportFile = join(dir, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  try {
    const argv = [bin('vitest/vitest.mjs'), 'run', ...args, ...reporters];
    const { status } = spawnSync(process.execPath, argv, { cwd: root, stdio: 'inherit' });
    count(reportFile, status);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  console.log(`${name}: done`);
  if (total.failed > 0) finish();
}

const only = process.argv[2];
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
  if (only === undefined || only === name) runStage(name, args);
}
finish();
