import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  connect,
  decodeNode,
  decodeRequest,
  encodeNode,
  encodeRequest,
  lastPart,
  newNode,
  NODE_CREATE_PATH,
  nodeLockPath,
  nodePath,
  NODES_ROOT,
  requestPath,
  REQUESTS_ROOT,
  withNode,
  withRequest,
  ZkLock,
} from '@nodepool/zk-protocol';
import type { NodeFields, NodeId, RequestId, RequestRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import type { EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { silentLogger } from '@nodepool/core';
import { commandClock } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { fetchNodeRows, fetchRequests } from '../connection/fetch-records.js';
import { acquireNodes } from './acquire.js';
import type { AcquireOptions } from './acquire.js';
import { deleteRequest } from './request.js';

const options: AcquireOptions = {
  labels: ['small'],
  provider: undefined,
  priority: 200,
  timeoutMs: undefined,
  quiet: true,
  force: false,
  purpose: 'test',
};

describe('taking nodes from a launcher', () => {
  let dataDir: string;
  let server: EmbeddedServer;
  /** What the command uses, and what plays the launcher. */
  let zk: ZooKeeper;
  let launcher: ZooKeeper;
  let context: CliContext;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'nodepool-cli-'));
    server = await startEmbeddedServer({ dataDir, port: 0, fsync: false });
    context = {
      options: {
        configFile: '/nonexistent/nodepool.yaml',
        configFileNamed: false,
        secureFile: undefined,
        stateDir: undefined,
        format: 'table',
        fields: undefined,
        headers: true,
        watchMs: undefined,
        strict: true,
        connectTimeoutMs: 5000,
      },
      logger: silentLogger,
      clock: commandClock,
      env: {},
    };
  });
  afterAll(async () => {
    await server.close();
    await rm(dataDir, { recursive: true });
  });
  beforeEach(async () => {
    [zk, launcher] = await Promise.all([
      connect({ servers: server.connectString }),
      connect({ servers: server.connectString }),
    ]);
    await launcher.ensurePath(NODES_ROOT);
    await launcher.ensurePath(REQUESTS_ROOT);
  });
  afterEach(async () => {
    await launcher.deleteRecursive('/nodepool');
    await Promise.all([zk.close(), launcher.close()]);
  });

  async function createNode(fields: NodeFields = {}): Promise<NodeId> {
    const node = newNode({ state: 'ready', provider: 'rack', labels: ['small'], ...fields }, Date.now());
    const path = await launcher.create(NODE_CREATE_PATH, encodeNode(node), { sequential: true });
    return lastPart(path) as NodeId;
  }

  async function readNode(id: NodeId) {
    const { data, stat } = await launcher.getData(nodePath(id));
    return decodeNode(id, data, stat, 0);
  }

  /** Waits for the next request and returns it. */
  async function nextRequest(): Promise<RequestRecord> {
    for (;;) {
      let wake = () => {};
      const changed = new Promise<void>((resolve) => (wake = resolve));
      const [id] = (await launcher.getChildren(REQUESTS_ROOT, () => wake())) as RequestId[];
      if (id !== undefined) {
        const { data, stat } = await launcher.getData(requestPath(id));
        const request = decodeRequest(id, data, stat, 0);
        if (request) return request;
      }
      await changed;
    }
  }

  async function store(request: RequestRecord): Promise<void> {
    await launcher.setData(requestPath(request.id), encodeRequest(request));
  }

  /** Does what a launcher does for the next request. */
  async function fulfil(nodeIds: NodeId[]): Promise<RequestRecord> {
    const request = await nextRequest();
    for (const id of nodeIds) {
      const node = await readNode(id);
      if (!node) throw new Error(`no node ${id}`);
      await launcher.setData(nodePath(id), encodeNode(withNode(node, { allocatedTo: request.id }, 0)));
    }
    await store(withRequest(request, { state: 'fulfilled', nodeIds }, Date.now()));
    return request;
  }

  /** Asks as the command does. */
  const acquire = (changes: Partial<AcquireOptions> = {}, signal = new AbortController().signal) =>
    acquireNodes(context, zk, { ...options, ...changes }, signal);

  it('asks as Zuul does, but with a request that cannot outlive the session', async () => {
    const acquiring = acquire({ labels: ['a', 'b', 'a'], priority: 100 }, AbortSignal.abort());
    await expect(acquiring).rejects.toThrow();

    const waiting = acquire({ labels: ['a', 'b', 'a'], priority: 100 });
    const request = await nextRequest();
    await deleteRequest(launcher, request.id);

    expect(request.id).toMatch(/^100-\d{10}$/);
    expect(request).toMatchObject({ state: 'requested', labels: ['a', 'b', 'a'], reuse: true });
    expect(request.requestor).toMatch(/^NodePool:cli:/);
    expect(request.stat?.ephemeralOwner).toBe(zk.sessionId);
    await expect(waiting).rejects.toThrow('was deleted by another process');
  });

  it('takes fulfilled nodes in order, in use and locked, and deletes the request', async () => {
    const first = await createNode();
    const second = await createNode({ labels: ['big'] });

    const [lease] = await Promise.all([acquire({ labels: ['big', 'small'] }), fulfil([second, first])]);

    expect(lease.nodes.map(({ node, label }) => [node.id, label])).toEqual([
      [second, 'big'],
      [first, 'small'],
    ]);
    expect(await fetchRequests({ ...context, zk })).toEqual([]);
    expect((await fetchNodeRows({ ...context, zk })).map(({ node, locked }) => [node.state, locked])).toEqual([
      ['in-use', true],
      ['in-use', true],
    ]);
    expect((await readNode(first))?.userData).toMatchObject({ purpose: 'test' });
  });

  it('returns the nodes as used and unlocked', async () => {
    const id = await createNode();
    const [lease] = await Promise.all([acquire(), fulfil([id])]);

    await lease.release();

    expect((await readNode(id))?.state).toBe('used');
    expect(await launcher.getChildren(nodeLockPath(id))).toEqual([]);
    expect(lease.lost.aborted).toBe(false);
  });

  it('leaves a node unchanged that an operator has changed meanwhile', async () => {
    const id = await createNode();
    const [lease] = await Promise.all([acquire(), fulfil([id])]);
    const node = await readNode(id);
    if (node) await launcher.setData(nodePath(id), encodeNode(withNode(node, { state: 'hold' }, 0)));

    await lease.release();

    expect((await readNode(id))?.state).toBe('hold');
  });

  it('gives back everything when one node is allocated to somebody else', async () => {
    const [good, bad] = [await createNode(), await createNode()];
    const acquiring = acquire({ labels: ['small', 'small'] });
    const outcome = expect(acquiring).rejects.toThrow(`Node ${bad} is no longer allocated`);
    const request = await nextRequest();
    const node = await readNode(good);
    if (node) await launcher.setData(nodePath(good), encodeNode(withNode(node, { allocatedTo: request.id }, 0)));
    await store(withRequest(request, { state: 'fulfilled', nodeIds: [good, bad] }, 0));

    await outcome;

    expect((await readNode(good))?.state).toBe('ready');
    expect(await launcher.getChildren(nodeLockPath(good))).toEqual([]);
    expect(await launcher.getChildren(REQUESTS_ROOT)).toEqual([]);
  });

  it.each<[string, NodeFields]>([
    ['host_keys', { hostKeys: ['ssh-ed25519 AAAA\n* ssh-ed25519 EVIL'] }],
    ['host_keys', { hostKeys: ['@cert-authority * ssh-ed25519 AAAA'] }],
    ['interface_ip', { interfaceIp: '-oProxyCommand=id' }],
    ['public_ipv4', { publicIpv4: '192.0.2.1 *' }],
    ['hostname', { hostname: 'host\u001b[2J' }],
    ['username', { username: '-oProxyCommand=id' }],
    ['username', { username: 'root\nevil' }],
    ['username', { username: '$(id)' }],
    ['connection_type', { connectionType: 'ssh -x' }],
    ['connection_port', { connectionPort: 22.5 }],
  ])('gives back, unused, a node whose %s is %j', async (field, fields) => {
    const id = await createNode(fields);
    const message = new RegExp(`^Node ${id} of rack is not used: its ${field} `);

    const [outcome] = await Promise.allSettled([acquire(), fulfil([id])]);

    expect(outcome).toMatchObject({ reason: { message: expect.stringMatching(message) as string } });
    expect((await readNode(id))?.state).toBe('ready');
    expect(await launcher.getChildren(nodeLockPath(id))).toEqual([]);
    expect(await launcher.getChildren(REQUESTS_ROOT)).toEqual([]);
  });

  it.each<NodeFields>([
    { interfaceIp: 'fe80::1%eth0', hostKeys: ['ssh-ed25519 AAAA+/==', 'sk-ssh-ed25519@openssh.com BBBB'] },
    { hostname: 'node-1.example.org', username: 'EXAMPLE\\zuul', connectionType: 'winrm', connectionPort: 5986 },
  ])('uses a node of %j', async (fields) => {
    const id = await createNode(fields);

    const [lease] = await Promise.all([acquire(), fulfil([id])]);

    expect(lease.nodes).toHaveLength(1);
    await lease.release();
  });

  it('says why a request failed', async () => {
    const acquiring = acquire();
    const outcome = expect(acquiring).rejects.toThrow(/for small failed: label small is not here/);
    const request = await nextRequest();
    const declineReasons = { worker: { rule: 'label', text: 'label small is not here', timeMs: 0 } };

    await store(withRequest(request, { state: 'failed', declinedBy: ['worker'], declineReasons }, 0));

    await outcome;
    expect(await launcher.getChildren(REQUESTS_ROOT)).toEqual([]);
  });

  it('gives up when told to, or when the time is over, and takes the request back', async () => {
    const abort = new AbortController();
    const interrupted = acquire({}, abort.signal);
    await nextRequest();
    abort.abort(new Error('Ctrl-C'));
    await expect(interrupted).rejects.toThrow('Ctrl-C');
    const late = acquire({ timeoutMs: 20 });
    await expect(late).rejects.toThrow('was not fulfilled within 0.02 s');

    expect(await launcher.getChildren(REQUESTS_ROOT)).toEqual([]);
  });

  it('notices that a lock was taken away', async () => {
    const id = await createNode();
    const [lease] = await Promise.all([acquire(), fulfil([id])]);
    const lost = new Promise((resolve) => lease.lost.addEventListener('abort', resolve, { once: true }));

    await ZkLock.forceUnlock(launcher, nodeLockPath(id));

    await lost;
    expect(String(lease.lost.reason)).toContain('The nodes are no longer ours');
    await lease.release();
    expect((await readNode(id))?.state).toBe('in-use');
  });
});
