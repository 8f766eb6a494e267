import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runTransfer } from '../../test/run-transfer.js';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'nodepool-ssh-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe.each([
  ['copied', `copyTo(node, { source: ${JSON.stringify(import.meta.dirname)} }, 'copy', { clock, signal })`],
  ['fetched', `fetchFrom(node, { directory: '.', name: 'x' }, '', { clock, signal })`],
])('while files are %s', (_, transfer) => {
  it.each([
    ['INT', 130],
    ['TERM', 143],
    ['HUP', 129],
  ] as const)('SIG%s for the group counts as an interrupt, although ssh fails because of it', async (name, status) => {
    const ssh = `trap 'exit 255' ${name}; kill -s ${name} 0; exit 255`;

    expect(await runTransfer(directory, transfer, ssh)).toEqual({ status, errors: `interrupted by SIG${name}\n` });
  });

  it('an error of ssh without a signal is reported', async () => {
    const { status, errors } = await runTransfer(directory, transfer, 'exit 255');

    expect(status).toBe(1);
    expect(errors).toContain('ssh ended with status 255');
  });
});
