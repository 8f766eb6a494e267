import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeBehind } from '../../test/fake-ssh.js';
import { InterruptedError } from '../terminal/interrupts.js';
import { copyTo, fetchFrom, remoteFile } from './transfer.js';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'nodepool-ssh-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe.each(['INT', 'TERM', 'HUP'] as const)('ssh that SIG%s has ended before this process has it', (name) => {
  const { signal } = new AbortController();
  const interrupted = new InterruptedError(`SIG${name}`);

  it('counts as interrupted while files are copied', async () => {
    const node = nodeBehind(directory, `kill -s ${name} $$`);

    await expect(copyTo(node, directory, 'copy', signal)).rejects.toEqual(interrupted);
  });

  it('counts as interrupted while a file is fetched', async () => {
    const node = nodeBehind(directory, `kill -s ${name} $$`);
    const file = { directory: '.', name: 'results' };

    await expect(fetchFrom(node, file, '', signal)).rejects.toEqual(interrupted);
  });
});

it.each([
  ['results', { directory: '.', name: 'results' }],
  ['out/a b.log', { directory: './out', name: 'a b.log' }],
  ['out//deep/../x/', { directory: './out', name: 'x' }],
  ['/var/log/syslog', { directory: '/var/log', name: 'syslog' }],
  ['../up', { directory: './..', name: 'up' }],
  ['-n', { directory: '.', name: '-n' }],
  ['.', undefined],
  ['..', undefined],
  ['a/..', undefined],
  ['/', undefined],
])('the file %j of a node', (path, expected) => {
  expect(remoteFile(path)).toEqual(expected);
});
