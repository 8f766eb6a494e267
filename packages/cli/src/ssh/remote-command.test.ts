import { patientClock } from '@nodepool/zk-protocol';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { nodeBehind } from '../../test/fake-ssh.js';
import { Interrupts } from '../terminal/interrupts.js';
import { RemoteCommand } from './remote-command.js';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'nodepool-ssh-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it('names both causes of a refused login: the key of the user, and that of the host', async () => {
  const node = nodeBehind(directory, 'exit 255');
  const interrupts = new Interrupts();
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    interrupts.dispose();
    told.mockRestore();
  });
  const remote = new RemoteCommand(node, ['true'], '');
  const local = { env: process.env, directory: join(directory, 'files') };
  const lease = { lost: new AbortController().signal };

  expect(await remote.run(local, { clock: patientClock, lease, interrupts })).toBe(255);

  expect(told.mock.calls.join('')).toMatch(/--identity names another one.*host key has changed/);
});
