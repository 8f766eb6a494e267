// What a run of vitest found, and the table of several runs. Pure: test.mjs runs them.

/** Tests of a report of vitest; a run that broke without a failed test counts as one failure. */
export function countTests({ numPassedTests, numFailedTests, testResults }, status) {
  const brokenFiles = testResults.filter((f) => f.status === 'failed' && f.assertionResults.length === 0).length;
  const failed = numFailedTests + brokenFiles;
  return { passed: numPassedTests, failed: failed === 0 && status !== 0 ? 1 : failed };
}

const minutes = (ms) => `${(ms / 60_000).toFixed(1)} min`;

/** Lines of a Markdown table, with the sum of all stages below. */
export function resultTable(stages) {
  const sum = (of) => stages.reduce((all, stage) => all + of(stage), 0);
  const all = { name: 'all', passed: sum((s) => s.passed), failed: sum((s) => s.failed), ms: sum((s) => s.ms) };
  const cells = [...stages.map((stage) => ({ ...stage, name: `test:${stage.name}` })), all].map(
    ({ name, passed, failed, ms }) => [name, `${passed}`, `${failed}`, minutes(ms)],
  );
  const rows = [['command', 'passed', 'failed', 'time'], ...cells];
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const line = (row) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(rows[0]), rule, ...rows.slice(1).map(line)];
}
