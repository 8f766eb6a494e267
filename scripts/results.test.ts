import { describe, expect, it } from 'vitest';
import { countTests, resultTable } from './results.mjs';

const report = (numPassedTests: number, numFailedTests: number, broken = 0) => ({
  ...{ numPassedTests, numFailedTests },
  testResults: [
    { status: numFailedTests > 0 ? 'failed' : 'passed', assertionResults: [{}] },
    ...Array.from({ length: broken }, () => ({ status: 'failed', assertionResults: [] })),
  ],
});

describe('countTests', () => {
  it.each([
    ['all passed', report(3, 0), 0, { passed: 3, failed: 0 }],
    ['a test failed', report(2, 1), 1, { passed: 2, failed: 1 }],
    ['a file broke before its tests', report(2, 0, 1), 1, { passed: 2, failed: 1 }],
    ['vitest ended badly, and no test failed', report(2, 0), 1, { passed: 2, failed: 1 }],
    ['vitest was killed', report(2, 0), null, { passed: 2, failed: 1 }],
  ])('%s', (_, found, status, counts) => {
    expect(countTests(found, status)).toEqual(counts);
  });
});

describe('resultTable', () => {
  it('has a row for each command, and their sum', () => {
    const stages = [
      { name: 'openstack', passed: 70, failed: 2, ms: 3_000_000 },
      { name: 'image', passed: 1, failed: 0, ms: 90_000 },
    ];

    expect(resultTable(stages)).toEqual([
      '| command        | passed | failed |     time |',
      '| -------------- | -----: | -----: | -------: |',
      '| test:openstack |     70 |      2 | 50.0 min |',
      '| test:image     |      1 |      0 |  1.5 min |',
      '| all            |     71 |      2 | 51.5 min |',
    ]);
  });
});
