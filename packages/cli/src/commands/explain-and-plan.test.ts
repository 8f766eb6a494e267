import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  componentCreatePath,
  componentsPath,
  connect,
  encodeComponent,
  encodeNode,
  encodeRequest,
  newNode,
  newPoolComponent,
  newRequest,
  NODE_CREATE_PATH,
  NODES_ROOT,
  requestCreatePath,
  REQUESTS_ROOT,
} from '@nodepool/zk-protocol';
import type { LauncherId, NodeFields, RequestFields, ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import type { EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { writeEmbeddedServerInfo } from '@nodepool/core/state-dir';
import { main } from '../main.js';

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

/** Nobody listens there, so that launchers are asked in vain. */
const DEAD_PORT = 'webapp: {port: 1, listen_address: 127.0.0.1}\n';
const RACK_ID = `${hostname()}-PoolWorker.rack-main-0123456789abcdef0123456789abcdef` as LauncherId;

function rackYaml(labels: string[], hosts: string[]): string {
  return (
    `${DEAD_PORT}labels:\n${labels.map((name) => `  - name: ${name}\n`).join('')}` +
    'providers:\n  - name: rack\n    driver: static\n    pools:\n      - name: main\n        nodes:\n' +
    hosts.map((host) => `          - ${host}\n`).join('')
  );
}

describe('nodepool explain and plan', () => {
  let directory: string;
  let stateDir: string;
  let server: EmbeddedServer;
  let zk: ZooKeeper;
  let web: Server | undefined;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nodepool-explain-'));
    stateDir = join(directory, 'state');
    await mkdir(stateDir);
    server = await startEmbeddedServer({ dataDir: join(stateDir, 'zookeeper'), fsync: false });
    await writeEmbeddedServerInfo(stateDir, { host: server.host, port: server.port, pid: process.pid });
  });
  afterAll(async () => {
    await server.close();
    await rm(directory, { recursive: true });
  });
  beforeEach(async () => {
    zk = await connect({ servers: server.connectString });
    await Promise.all([NODES_ROOT, REQUESTS_ROOT, componentsPath('pool')].map((path) => zk.ensurePath(path)));
    await writeConfig('rack.yaml', ['small', 'big'], ['{name: host1, labels: small}', '{name: host2, labels: big}']);
  });
  afterEach(async () => {
    web?.close();
    web = undefined;
    await zk.deleteRecursive('/nodepool');
    await zk.close();
  });

  const file = (name: string) => join(directory, name);
  const writeConfig = (name: string, labels: string[], hosts: string[]) =>
    writeFile(file(name), rackYaml(labels, hosts));
  const call = (config: string, ...argv: string[]) => nodepool('-c', file(config), '--state-dir', stateDir, ...argv);

  async function createNode(fields: NodeFields = {}): Promise<string> {
    const node = newNode(
      {
        state: 'ready',
        provider: 'rack',
        pool: 'main',
        hostname: 'host1',
        username: 'zuul',
        connectionPort: 22,
        slot: 0,
        labels: ['small'],
        ...fields,
      },
      Date.now(),
    );
    const path = await zk.create(NODE_CREATE_PATH, encodeNode(node), { sequential: true });
    return path.slice(path.lastIndexOf('/') + 1);
  }
  async function createRequest(labels: string[], fields: Partial<RequestFields> = {}): Promise<string> {
    const body = encodeRequest(newRequest({ labels, requestor: 'zuul', ...fields }, Date.now()));
    const path = await zk.create(requestCreatePath(200), body, { sequential: true });
    return path.slice(path.lastIndexOf('/') + 1);
  }
  async function registerRack(labels: string[]): Promise<void> {
    const body = newPoolComponent({
      ...{ hostname: hostname(), state: 'running', version: '1.0', launcherId: RACK_ID, name: 'main' },
      ...{ providerName: 'rack', supportedLabels: labels, priority: 100, paused: false },
    });
    await zk.create(componentCreatePath('pool', hostname()), encodeComponent(body), {
      sequential: true,
      ephemeral: true,
    });
  }
  async function listen(answer: (url: string) => { status: number; body: string }): Promise<string> {
    web = createServer((request, response) => {
      const { status, body } = answer(request.url ?? '');
      response.writeHead(status).end(body);
    });
    await new Promise<void>((resolve) => web?.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  }

  describe('explain', () => {
    it('computes why a request waits when no launcher answers, and says so', async () => {
      await registerRack(['small', 'big']);
      await createNode({ state: 'in-use' });
      await createRequest(['small']);
      const id = await createRequest(['small']);

      const { status, stdout, stderr } = await call('rack.yaml', 'explain', id);

      expect(status).toBe(0);
      expect(stderr).toContain('No launcher answered');
      expect(stdout.split('\n')[0]).toBe(
        `Request ${id} waits for pool "rack/main": behind another request; the first that wants the same waits: 1 of "small" needed, 0 free after requests ahead`,
      );
    });

    it('says what would become of labels nobody has asked for', async () => {
      await registerRack(['small', 'big']);
      await createNode();

      const one = JSON.parse((await call('rack.yaml', 'explain', '--label', 'small', '--json')).stdout) as object;
      const two = await call('rack.yaml', 'explain', '--label', 'small', '--label', 'small');

      expect(one).toMatchObject({ source: 'offline', request: null, pools: [{ action: 'accept', provider: 'rack' }] });
      expect(two.stdout).toContain('would fail: no pool can serve it (it would exceed quota: 2 of "small" asked for');
    });

    it('names configured pools that no launcher serves', async () => {
      const id = await createRequest(['small']);

      const { stdout } = await call('rack.yaml', 'explain', id);

      expect(stdout).toContain('it is configured, but no launcher has registered it');
    });

    it('asks the named launchers and merges what each says of its own pools', async () => {
      const pool = { provider: 'rack', pool: 'main', launcher: RACK_ID, rule: 'label-quota', text: 'none is free' };
      const body = {
        request: '200-1',
        state: 'requested',
        labels: ['small'],
        pools: [{ ...pool, own: true, action: 'wait' }],
      };
      const own = await listen(() => ({ status: 200, body: JSON.stringify(body) }));

      const { status, stdout } = await nodepool('explain', '200-1', '--url', own, '--url', 'http://127.0.0.1:1');

      expect(status).toBe(0);
      expect(stdout).toContain('Request 200-1 waits for pool "rack/main": none is free');
    });

    it('reports a request no launcher knows, with status 1 when strict', async () => {
      const url = await listen(() => ({ status: 404, body: '{"error": "unknown-request"}' }));

      const lenient = await nodepool('explain', '200-9', '--url', url);
      const strict = await nodepool('explain', '200-9', '--url', url, '--strict');

      expect(lenient).toMatchObject({ status: 0, stdout: 'Request id 200-9 not found\n' });
      expect(strict.status).toBe(1);
    });

    it('says that a launcher is too old to explain', async () => {
      const url = await listen(() => ({ status: 404, body: 'Not found' }));

      const { status, stderr } = await nodepool('explain', '200-9', '--url', url);

      expect(status).toBe(1);
      expect(stderr).toContain('it has no /explain: an older launcher, or another service');
    });

    it.each([[['explain']], [['explain', '200-1', '--label', 'a']], [['explain', '200-1', '--url', 'nl01']]])(
      'does not understand %j',
      async (argv) => {
        expect((await nodepool(...argv)).status).toBe(2);
      },
    );
  });

  describe('request-list --detail', () => {
    it('shows the last reason of each pool, and why a request waits where a launcher answers', async () => {
      const other = RACK_ID.replace('rack-main', 'cloud-main');
      const reason = { rule: 'label-unavailable', text: 'no label big', timeMs: 0 };
      const id = await createRequest(['big'], { declineReasons: { [RACK_ID]: reason, [other]: reason } });
      await registerRack(['small']);
      const pool = {
        provider: 'rack',
        pool: 'main',
        launcher: RACK_ID,
        own: true,
        action: 'wait',
        text: 'none is free',
      };
      const url = await listen(() => ({
        status: 200,
        body: JSON.stringify({ request: id, state: 'requested', labels: ['big'], pools: [pool] }),
      }));
      await writeFile(file('live.yaml'), `webapp: {port: ${new URL(url).port}, listen_address: 127.0.0.1}\n`);

      const live = await call('live.yaml', 'request-list', '--detail');
      const dead = await call('rack.yaml', 'request-list', '--detail');

      expect(live.stdout).toContain('| waits for pool "rack/main": none is free |');
      expect(live.stdout).toContain('| rack-main, cloud-main: no label big ');
      expect(dead.status).toBe(0);
      expect(dead.stdout).not.toContain('Waits For');
    });
  });

  describe('plan', () => {
    it('tells labels, nodes and requests that change', async () => {
      await registerRack(['small', 'big']);
      await createNode();
      const gone = await createNode({ hostname: 'host2', labels: ['big'] });
      const hopeless = await createRequest(['big']);
      const servable = await createRequest(['huge']);
      await createRequest(['small']);
      await writeConfig(
        'next.yaml',
        ['small', 'huge'],
        ['{name: host1, labels: small}', '{name: host3, labels: huge, max-parallel-jobs: 2}'],
      );

      const { status, stdout } = await call('next.yaml', 'plan', '--current', file('rack.yaml'));
      const json = JSON.parse(
        (await call('next.yaml', 'plan', '--current', file('rack.yaml'), '--json')).stdout,
      ) as object;

      expect(status).toBe(0);
      expect(stdout.split('\n')).toEqual([
        'Labels:',
        '  + huge',
        '  - big',
        '',
        'Providers:',
        '  ~ rack: restarts, requests under way are finished',
        '',
        'Pools:',
        '  ~ rack/main',
        '',
        'Nodes to be registered:',
        '  + 2 on rack/host3 (huge)',
        '',
        'Nodes to be deleted:',
        `  - ${gone} of rack: the host is not configured (host2)`,
        '',
        'Waiting requests that become servable:',
        `  + ${servable} (huge): rack/main`,
        '',
        'Waiting requests that become hopeless:',
        `  - ${hopeless} (big): rack/main: node type(s) [big] not available`,
        '',
        '3 requests wait; 1 would become servable, 1 hopeless.',
        '',
      ]);
      expect(json).toMatchObject({ requests: { waiting: 3, servable: [{ request: servable }] } });
    });

    it('finds nothing to do for the configuration in force', async () => {
      await registerRack(['small', 'big']);
      await createNode();
      await createNode({ hostname: 'host2', labels: ['big'] });

      const { stdout } = await call('rack.yaml', 'plan', '--current', file('rack.yaml'));

      expect(stdout).toBe('Nothing would change (0 requests wait).\n');
    });

    it('says what becomes of the nodes of a removed provider', async () => {
      await registerRack(['small', 'big']);
      await createNode();
      await writeFile(file('empty.yaml'), DEAD_PORT);

      const { stdout, stderr } = await call('empty.yaml', 'plan');

      expect(stderr).toContain('compared with the registered pools only');
      expect(stdout).toContain('- rack\n');
      expect(stdout).toContain('! 1 of rack: the provider is removed but its nodes stay');
    });

    it('ends with status 1 and the problems when the configuration is not valid', async () => {
      await writeFile(file('bad.yaml'), 'labels:\n  - nam: small\n');

      const { status, stderr } = await call('bad.yaml', 'plan');

      expect(status).toBe(1);
      expect(stderr).toMatch(/bad\.yaml:2:\d+: labels\[0\]/);
    });

    it('changes nothing in ZooKeeper', async () => {
      await registerRack(['small', 'big']);
      await createNode();
      const before = await zk.exists('/nodepool');

      await call('rack.yaml', 'plan', '--current', file('rack.yaml'));
      await call('rack.yaml', 'explain', '--label', 'small');

      expect(await zk.getChildren(NODES_ROOT)).toHaveLength(1);
      expect((await zk.exists('/nodepool'))?.pzxid).toBe(before?.pzxid);
    });
  });
});
