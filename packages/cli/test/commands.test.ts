import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { relative } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { NODE_CREATE_PATH, nodeLockPath, ZkLock, type NodeId, type RequestId } from '@nodepool/zk-protocol';
import { useInstallation } from './installation.js';
import { nodepool } from './program.js';

const get = useInstallation();

beforeAll(() => get().write('nodepool.yaml', 'labels:\n  - name: small\n'));

const call = (...argv: string[]) => get().nodepool('nodepool.yaml', ...argv);

describe('nodepool', () => {
  it('lists the nodes of the embedded server it finds in the state directory', async () => {
    const id = await get().createNode();

    const { status, stdout } = await call('list', '--json');

    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ id, provider: 'rack', label: ['small'], locked: 'unlocked' }]);
  });

  it('prints an empty table when there is nothing', async () => {
    const { stdout } = await call('request-list');

    expect(stdout.split('\n')[1]).toMatch(/^\| Request ID \| Priority \|/);
    expect(stdout.split('\n')).toHaveLength(5);
  });

  it('ignores unreadable records', async () => {
    await get().zk.create(NODE_CREATE_PATH, '', { sequential: true });
    await get().zk.create(NODE_CREATE_PATH, 'not JSON', { sequential: true });
    const id = await get().createNode();

    const { stdout, stderr } = await call('list', '--format', 'json');

    expect((JSON.parse(stdout) as { id: string }[]).map((node) => node.id)).toEqual([id]);
    expect(stderr).toContain('Cannot read a record');
  });

  it.each([
    ['delete', 'deleting'],
    ['hold', 'hold'],
  ])('%s changes the state and lists the node', async (command, state) => {
    const id = await get().createNode();

    const { status, stdout } = await call(command, id);

    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`\\| ${id} .*\\| ${state} .*\\| unlocked \\|`));
  });

  it('takes a state directory by its relative path', async () => {
    const stateDir = relative(process.cwd(), get().file('state'));

    const outcome = await nodepool('list', '--no-headers', '-c', get().file('nodepool.yaml'), '--state-dir', stateDir);

    expect(outcome).toMatchObject({ status: 0, stderr: '' });
  });

  it('reports an unknown node with status 0, or 1 when strict', async () => {
    const lenient = await call('delete', '0000000099');
    const strict = await call('hold', '0000000099', '--strict');

    expect(lenient).toMatchObject({ status: 0, stdout: 'Node id 0000000099 not found\n' });
    expect(strict).toMatchObject({ status: 1, stderr: 'nodepool: Node id 0000000099 not found\n' });
  });

  it.each(['hold', 'delete'])('%s warns beside the output that it has done nothing', async (command) => {
    const id = await get().createNode();
    const short = String(Number(id));

    expect((await call(command, '0000000099')).stderr).toContain(
      'nodepool: nothing was done, as there is no node 0000000099\n',
    );
    expect((await call(command, short)).stderr).toContain(`there is no node ${short}, did you mean ${id}?`);
  });

  it.each([
    ['info', 'rak', 'has the provider rak, did you mean rack?'],
    ['image-pause', 'debina', 'has the image debina, did you mean debian?'],
    ['image-unpause', 'debina', 'has the image debina, did you mean debian?'],
  ])('%s %s warns of a name that is not known, with status 0', async (command, name, message) => {
    await get().registerRack(['small']);
    await get().zk.ensurePath('/nodepool/images/debian');

    expect(await call(command, name)).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(message) as string,
    });
  });

  it('shows what is known about a provider', async () => {
    const id = await get().createNode();
    await get().createNode({ provider: 'other' });
    await get().zk.ensurePath('/nodepool/images/debian/builds/b1/providers/rack/images/0000000003');

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

  it('lists what can be asked for, with numbers', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode();
    await get().createNode({ slot: 1, allocatedTo: '200-1' as RequestId });
    await get().createNode({ slot: 2, state: 'building' });
    await get().createNode({ slot: 3, state: 'in-use', labels: ['small', 'gone'] });
    await get().createNode({ slot: 4, state: 'hold' });
    const locked = await get().createNode({ slot: 5 });
    await new ZkLock(get().zk, nodeLockPath(locked as NodeId)).acquire();
    await get().createRequest(['big', 'big', 'small']);
    await get().createRequest(['big'], { state: 'failed' });

    const { stdout } = await call('labels');

    expect(stdout.split('\n')).toEqual([
      '+-------+-------+----------+--------+------+------------------+-----------+-----------+',
      '| Label | Ready | Building | In Use | Hold | Requests Waiting | Pools     | Condition |',
      '+-------+-------+----------+--------+------+------------------+-----------+-----------+',
      '| big   | 0     | 0        | 0      | 0    | 1                | rack/main |           |',
      '| gone  | 0     | 0        | 1      | 0    | 0                |           |           |',
      '| small | 1     | 1        | 3      | 1    | 1                | rack/main |           |',
      '+-------+-------+----------+--------+------+------------------+-----------+-----------+',
      '',
    ]);
  });

  it('says in one line that no server answers', async () => {
    await get().write('dead.yaml', 'zookeeper-servers:\n  - host: 127.0.0.1\n    port: 1\n');

    const { status, stderr } = await nodepool('-c', get().file('dead.yaml'), '--connect-timeout', '0.2', 'list');

    expect(status).toBe(1);
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
      /^nodepool: No ZooKeeper server answered within 0.2 s: 127.0.0.1:1\./,
    );
  });

  it('says that a port is not that of ZooKeeper', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).write('SSH-2.0-OpenSSH_9.2p1\r\n'));
    onTestFinished(() => void server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    await get().write('ssh.yaml', `zookeeper-servers: [{host: 127.0.0.1, port: ${port}}]\n`);

    const { status, stderr } = await nodepool('-c', get().file('ssh.yaml'), '--connect-timeout', '1', 'list');

    expect(status).toBe(1);
    expect(stderr).toContain(
      `127.0.0.1:${port}: does not answer as ZooKeeper, but with "SSH-2.0-OpenSSH_9.2p1": correct host or port`,
    );
  });

  it('needs neither drivers nor valid providers to reach ZooKeeper', async () => {
    const yaml = 'providers:\n  - name: odd\n    driver: not-installed\n    pools: [{name: main, nonsense: 1}]\n';
    await get().write('odd.yaml', yaml);

    const { status } = await get().nodepool('odd.yaml', 'list');

    expect(status).toBe(0);
  });

  it('says where it looked for an embedded server', async () => {
    const { status, stderr } = await nodepool(
      '-c',
      get().file('nodepool.yaml'),
      '--state-dir',
      get().directory,
      'list',
    );

    expect(status).toBe(1);
    expect(stderr).toContain(`looked in ${get().directory}`);
  });

  it('validates the configuration without ZooKeeper', async () => {
    await get().write('bad.yaml', 'labels:\n  - nam: small\n');

    const good = await call('config-validate');
    const bad = await nodepool('-c', get().file('bad.yaml'), 'config-validate');

    expect(good.status).toBe(0);
    expect(bad.status).toBe(1);
    expect(bad.stderr).toMatch(/bad\.yaml:2:\d+: labels\[0\]/);
  });

  it('ends with status 2 for what it does not understand', async () => {
    expect(await call('nonsense')).toMatchObject({ status: 2, stdout: '' });
  });

  it('says who holds a locked node', async () => {
    const id = await get().createNode({ state: 'in-use' });
    const lock = new ZkLock(get().zk, nodeLockPath(id as NodeId), { identifier: 'zuul@executor' });
    await lock.acquire();

    const { status, stderr } = await call('delete', id);

    expect(status).toBe(1);
    expect(stderr).toMatch(new RegExp(`Node ${id} is locked \\(state in-use, held by session 0x.* "zuul@executor"\\)`));
  });

  it.each([
    [
      'a backing node',
      'NodePool:metastatic:m',
      /metastatic provider "m" gives it back once .*configure it again.*delete the entry (\S+) in ZooKeeper and repeat/,
    ],
    [
      'something unknown',
      'reservation',
      /if its owner is gone for good, delete the entry (\S+) in ZooKeeper and repeat/,
    ],
  ])('says whose lasting lock %s has, and what ends it', async (_what, owner, remedy) => {
    const id = (await get().createNode({ state: 'in-use' })) as NodeId;
    const lock = new ZkLock(get().zk, nodeLockPath(id), { identifier: owner, ephemeral: false });
    await lock.acquire();

    const refused = await call('delete', id);
    await get().zk.delete(remedy.exec(refused.stderr)?.[1] ?? '');
    const repeated = await call('delete', id);

    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(
      new RegExp(
        `Node ${id} is locked \\(state in-use, a lasting lock of "${owner}" since 20.*\\); gave up after 5 s\\. `,
      ),
    );
    expect(refused.stderr).not.toContain('session 0x');
    expect(repeated.status).toBe(0);
  });
});
