import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  connect,
  encodeNode,
  newNode,
  NODE_CREATE_PATH,
  nodeLockPath,
  NODES_ROOT,
  ZkLock,
} from '@nodepool/zk-protocol';
import type { NodeFields, ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import type { EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { writeEmbeddedServerInfo } from '@nodepool/core/state-dir';
import { main } from '../main.js';

/** What one call of the program printed, and its exit status. */
interface Outcome {
  status: unknown;
  stdout: string;
  stderr: string;
}

async function nodepool(...argv: string[]): Promise<Outcome> {
  const captured = { stdout: '', stderr: '' };
  const out = vi
    .spyOn(process.stdout, 'write')
    .mockImplementation((text) => Boolean((captured.stdout += String(text))));
  const err = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => Boolean((captured.stderr += String(text))));
  try {
    await main(argv);
    return { status: process.exitCode, ...captured };
  } finally {
    process.exitCode = undefined;
    out.mockRestore();
    err.mockRestore();
  }
}

describe('nodepool', () => {
  let directory: string;
  let stateDir: string;
  let server: EmbeddedServer;
  let zk: ZooKeeper;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nodepool-cli-'));
    stateDir = join(directory, 'state');
    await mkdir(stateDir);
    server = await startEmbeddedServer({ dataDir: join(stateDir, 'zookeeper'), fsync: false });
    await writeEmbeddedServerInfo(stateDir, { host: server.host, port: server.port, pid: process.pid });
    await writeFile(join(directory, 'nodepool.yaml'), 'labels:\n  - name: small\n');
  });
  afterAll(async () => {
    await server.close();
    await rm(directory, { recursive: true });
  });
  beforeEach(async () => {
    zk = await connect({ servers: server.connectString });
    await zk.ensurePath(NODES_ROOT);
  });
  afterEach(async () => {
    await zk.deleteRecursive('/nodepool');
    await zk.close();
  });

  const call = (...argv: string[]) =>
    nodepool('-c', join(directory, 'nodepool.yaml'), '--state-dir', stateDir, ...argv);

  async function createNode(fields: NodeFields = {}): Promise<string> {
    const node = newNode(
      { state: 'ready', provider: 'rack', labels: ['small'], externalId: 'host1', ...fields },
      Date.now(),
    );
    const path = await zk.create(NODE_CREATE_PATH, encodeNode(node), { sequential: true });
    return path.slice(path.lastIndexOf('/') + 1);
  }

  it('lists the nodes of the embedded server it finds in the state directory', async () => {
    const id = await createNode();

    const { status, stdout } = await call('list', '--json');

    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ id, provider: 'rack', label: ['small'], locked: 'unlocked' }]);
  });

  it('prints an empty table when there is nothing', async () => {
    const { stdout } = await call('request-list');

    expect(stdout.split('\n')[1]).toMatch(/^\| Request ID \| Priority \|/);
    expect(stdout.split('\n')).toHaveLength(5);
  });

  it('ignores records that nobody can read', async () => {
    await zk.create(NODE_CREATE_PATH, '', { sequential: true });
    await zk.create(NODE_CREATE_PATH, 'not JSON', { sequential: true });
    const id = await createNode();

    const { stdout, stderr } = await call('list', '--format', 'json');

    expect((JSON.parse(stdout) as { id: string }[]).map((node) => node.id)).toEqual([id]);
    expect(stderr).toContain('Cannot read a record');
  });

  it.each([
    ['delete', 'deleting'],
    ['hold', 'hold'],
  ])('%s changes the state and lists the node', async (command, state) => {
    const id = await createNode();

    const { status, stdout } = await call(command, id);

    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`\\| ${id} .*\\| ${state} .*\\| unlocked \\|`));
  });

  it('reports an unknown node with status 0, or 1 when strict', async () => {
    const lenient = await call('delete', '0000000099');
    const strict = await call('hold', '0000000099', '--strict');

    expect(lenient).toMatchObject({ status: 0, stdout: 'Node id 0000000099 not found\n' });
    expect(strict).toMatchObject({ status: 1, stderr: 'nodepool: Node id 0000000099 not found\n' });
  });

  it('shows what is known about a provider', async () => {
    const id = await createNode();
    await createNode({ provider: 'other' });
    await zk.ensurePath('/nodepool/images/debian/builds/b1/providers/rack/images/0000000003');

    const { stdout } = await call('info', 'rack');

    expect(stdout.split('\n')).toEqual([
      'ZooKeeper data for provider rack',
      '',
      'Image data:',
      '+------------+----------+------------+',
      '| Image Name | Build ID | Upload IDs |',
      '+------------+----------+------------+',
      '| debian     | b1       | 0000000003 |',
      '+------------+----------+------------+',
      '',
      'Nodes:',
      '+------------+-----------+',
      '| ID         | Server ID |',
      '+------------+-----------+',
      `| ${id} | host1     |`,
      '+------------+-----------+',
      '',
    ]);
  });

  it('says in one line that nobody answers', async () => {
    await writeFile(join(directory, 'dead.yaml'), 'zookeeper-servers:\n  - host: 127.0.0.1\n    port: 1\n');

    const { status, stderr } = await nodepool('-c', join(directory, 'dead.yaml'), '--connect-timeout', '0.2', 'list');

    expect(status).toBe(1);
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
      /^nodepool: No ZooKeeper server answered within 0.2 s: 127.0.0.1:1\./,
    );
  });

  it('needs neither drivers nor valid providers to reach ZooKeeper', async () => {
    const yaml = 'providers:\n  - name: odd\n    driver: not-installed\n    pools: [{name: main, nonsense: 1}]\n';
    await writeFile(join(directory, 'odd.yaml'), yaml);

    const { status } = await nodepool('-c', join(directory, 'odd.yaml'), '--state-dir', stateDir, 'list');

    expect(status).toBe(0);
  });

  it('says where it looked for an embedded server', async () => {
    const { status, stderr } = await nodepool('-c', join(directory, 'nodepool.yaml'), '--state-dir', directory, 'list');

    expect(status).toBe(1);
    expect(stderr).toContain(`looked in ${directory}`);
  });

  it('validates the configuration without ZooKeeper', async () => {
    await writeFile(join(directory, 'bad.yaml'), 'labels:\n  - nam: small\n');

    const good = await call('config-validate');
    const bad = await nodepool('-c', join(directory, 'bad.yaml'), 'config-validate');

    expect(good.status).toBe(0);
    expect(bad.status).toBe(1);
    expect(bad.stderr).toMatch(/bad\.yaml:2:\d+: labels\[0\]/);
  });

  it('ends with status 2 for what it does not understand', async () => {
    expect(await call('nonsense')).toMatchObject({ status: 2, stdout: '' });
  });

  it('says who holds a locked node', async () => {
    const id = await createNode({ state: 'in-use' });
    const lock = new ZkLock(zk, nodeLockPath(id as Parameters<typeof nodeLockPath>[0]), {
      identifier: 'zuul@executor',
    });
    await lock.acquire();

    const { status, stderr } = await call('delete', id);

    expect(status).toBe(1);
    expect(stderr).toMatch(new RegExp(`Node ${id} is locked \\(state in-use, held by session 0x.* "zuul@executor"\\)`));
  }, 15_000);
});
