import { describe, expect, it } from 'vitest';
import { readPs, readProcesses } from './process-table.js';

const MARKER = 'NODEPOOL_RUN_test=1';

describe.each([
  ['this system', () => readProcesses(MARKER)],
  ['ps', readPs],
])('the process table of %s', (_name, read) => {
  it('has this process and its parent, once each', async () => {
    const found = (await read()).filter(({ pid }) => pid === process.pid);

    expect(found).toMatchObject([{ parentPid: process.ppid, isMarked: false }]);
    expect(found[0]?.started).not.toBe('');
  });
});
