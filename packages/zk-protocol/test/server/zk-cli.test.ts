import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedServer, startEmbeddedServer } from '../../src/server/index.js';

const ZK_CLI = '/usr/share/zookeeper/bin/zkCli.sh';

describe("Debian's zkCli on the embedded server", () => {
  let server: EmbeddedServer;
  let dataDir: string;

  beforeAll(async () => {
    await ensureDebianPackages(['zookeeper']);
    dataDir = await mkdtemp(join(tmpdir(), 'nodepool-zkcli-'));
    server = await startEmbeddedServer({ dataDir });
  });

  afterAll(async () => {
    await server.close();
    await rm(dataDir, { recursive: true });
  });

  it('creates, lists, reads, sets and deletes', async () => {
    const output = await zkCli([
      'create /shop first',
      'create -e -s /shop/order- 1',
      'create /shop/a b',
      'ls /shop',
      'get /shop',
      'set -s /shop second',
      'get /shop',
      'stat /shop',
      'getAllChildrenNumber /shop',
      'getEphemerals',
      'addauth digest ann:secret',
      'setAcl /shop/a auth::cdrwa',
      'getAcl /shop/a',
      'whoami',
      'sync /shop',
      'delete /shop/a',
      'delete /nothing',
      'deleteall /shop',
      'ls /',
    ]);

    expect(output).toContain('Created /shop/order-0000000000');
    expect(output).toContain('[a, order-0000000000]');
    expect(output).toMatch(/^first$/m);
    expect(output).toMatch(/^second$/m);
    expect(output).toContain('numChildren = 2');
    expect(output).toContain('[/shop/order-0000000000]');
    expect(output).toContain("'digest,'ann:");
    expect(output).toContain('Sync is OK');
    expect(output).toContain('Node does not exist: /nothing');
    expect(output).toMatch(/^\[zookeeper\]$/m);
  });

  async function zkCli(commands: string[]): Promise<string> {
    const child = spawn(ZK_CLI, ['-server', server.connectString], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(`${[...commands, 'quit'].join('\n')}\n`);
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return out + err;
  }
});
