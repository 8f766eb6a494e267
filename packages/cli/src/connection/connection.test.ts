import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { relative } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { nodepool } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

it('lists the nodes of the embedded server it finds in the state directory', async () => {
  const id = await get().createNode();

  const { status, stdout } = await call('list', '--json');

  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([{ id, provider: 'rack', label: ['small'], locked: 'unlocked' }]);
});

it('accepts a relative path of a state directory', async () => {
  const stateDir = relative(process.cwd(), get().file('state'));

  const outcome = await nodepool('list', '--no-headers', '-c', get().file('nodepool.yaml'), '--state-dir', stateDir);

  expect(outcome).toMatchObject({ status: 0, stderr: '' });
});

it('reports in one line that no server answers', async () => {
  await get().write('dead.yaml', 'zookeeper-servers:\n  - host: 127.0.0.1\n    port: 1\n');

  const { status, stderr } = await nodepool('-c', get().file('dead.yaml'), '--connect-timeout', '0.2', 'list');

  expect(status).toBe(1);
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
    /^nodepool: No ZooKeeper server answered within 0.2 s: 127.0.0.1:1\./,
  );
});

it("reports a port that is not ZooKeeper's", async () => {
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

it('names the places where it looked for an embedded server', async () => {
  const { status, stderr } = await nodepool('-c', get().file('nodepool.yaml'), '--state-dir', get().directory, 'list');

  expect(status).toBe(1);
  expect(stderr).toContain(`looked in ${get().directory}`);
  expect(stderr).toContain('only run, ssh, request, release, certificate, explain and list --mine work, with --server');
});
