import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { newNode, type NodeId } from '@nodepool/zk-protocol';
import { writeRunFiles } from './run-files.js';

const run = promisify(execFile);

describe('run files', () => {
  it('are readable by this user only, and go away', async () => {
    const node = newNode(
      { state: 'in-use', interfaceIp: '192.0.2.1', connectionPort: 2222, hostKeys: ['ssh-ed25519 AAAA'] },
      0,
    );

    const files = await writeRunFiles([{ node: { ...node, id: '0000000001' as NodeId }, label: 'small' }]);
    const knownHosts = await readFile(files.knownHostsFile, 'utf8');
    const inventory = JSON.parse(await readFile(files.inventoryFile, 'utf8')) as {
      all: { hosts: Record<string, Record<string, unknown>> };
    };
    await files.remove();

    expect(knownHosts).toBe('[192.0.2.1]:2222 ssh-ed25519 AAAA\n');
    expect(inventory.all.hosts['small-1']).toMatchObject({ ansible_host: '192.0.2.1', ansible_port: 2222 });
    await expect(readdir(files.directory)).rejects.toThrow('ENOENT');
  });

  it.each(['with blank', 'with"quote', '100%h', '${HOME}'])(
    'have names that ssh takes with TMPDIR %s',
    async (name) => {
      const root = await mkdtemp(join(tmpdir(), 'run-files-'));
      const temporary = join(root, name);
      await mkdir(temporary);
      vi.stubEnv('TMPDIR', temporary);
      onTestFinished(async () => {
        vi.unstubAllEnvs();
        await rm(root, { recursive: true });
      });

      const files = await writeRunFiles([]);
      onTestFinished(() => files.remove());
      const { stdout } = await run('ssh', ['-G', '-o', `UserKnownHostsFile=${files.knownHostsFile}`, 'host']);

      expect(stdout.split('\n')).toContain(`userknownhostsfile ${files.knownHostsFile}`);
      expect(files.knownHostsFile).toMatch(/^\S+$/);
    },
  );
});
