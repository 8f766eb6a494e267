import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { decodeNode, encodeNode, newNode } from '@nodepool/zk-protocol';
import type { NodeId } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { commandClock } from '../command/context.js';
import { InterruptedError, Interrupts } from '../terminal/interrupts.js';
import { RemoteCommand } from './remote-command.js';
import { RemoteNode } from './remote-node.js';
import { copyTo, fetchFrom } from './transfer.js';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'nodepool-ssh-test-'))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

/** A node, whose `ssh` is this script for a shell. */
function nodeBehind(script: string): RemoteNode {
  const program = join(directory, 'ssh');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o700);
  vi.stubEnv('PATH', [directory, process.env['PATH']].join(delimiter));
  const content = encodeNode(newNode({ state: 'in-use', interfaceIp: '10.0.0.1', connectionType: 'ssh' }, 0));
  const node = decodeNode('0000000001' as NodeId, content, undefined, 0);
  if (!node) throw new Error('the record has no content');
  return new RemoteNode(node, { knownHostsFile: '/dev/null', identity: undefined });
}

describe.each(['INT', 'TERM', 'HUP'] as const)('ssh that SIG%s has ended before this process has it', (name) => {
  const { signal } = new AbortController();
  const interrupted = new InterruptedError(`SIG${name}`);

  it('counts as interrupted while files are copied', async () => {
    const node = nodeBehind(`kill -s ${name} $$`);

    await expect(copyTo(node, directory, 'copy', signal)).rejects.toEqual(interrupted);
  });

  it('counts as interrupted while a file is fetched', async () => {
    const node = nodeBehind(`kill -s ${name} $$`);
    const file = { directory: '.', name: 'results' };

    await expect(fetchFrom(node, file, '', signal)).rejects.toEqual(interrupted);
  });
});

it('names both causes of a refused login: the key of the user, and that of the host', async () => {
  const node = nodeBehind('exit 255');
  const interrupts = new Interrupts();
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    interrupts.dispose();
    told.mockRestore();
  });
  const remote = new RemoteCommand(node, ['true'], '');
  const command = remote.command({ env: process.env, directory: join(directory, 'files') });
  const lease = { lost: new AbortController().signal };

  expect(await remote.run(command, { clock: commandClock, lease, interrupts })).toBe(255);

  expect(told.mock.calls.join('')).toMatch(/--identity names another one.*key of the host has changed/);
});
