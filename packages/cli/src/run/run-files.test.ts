import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { newNode, type NodeId } from '@nodepool/zk-protocol';
import { writeRunFiles } from './run-files.js';

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
    await expect(readdir(join(files.inventoryFile, '..'))).rejects.toThrow('ENOENT');
  });
});
