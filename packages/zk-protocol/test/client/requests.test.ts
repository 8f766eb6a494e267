import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, createZooKeeper, MultiError, type ZooKeeper, type ZooKeeperOptions } from '../../src/index.js';
import { closing, eventually, stopping } from '../support/clients.js';
import { ScriptedServer } from '../support/scripted-server.js';

describe('requests', () => {
  let zooKeeper: ZooKeeperHandle;
  let chroots = 0;

  beforeAll(async () => {
    zooKeeper = await startZooKeeper({ tickMs: 200, javaOptions: ['-Dzookeeper.extendedTypesEnabled=true'] });
  });
  afterAll(() => zooKeeper.stop());

  async function connected(options: Partial<ZooKeeperOptions> = {}): Promise<ZooKeeper> {
    const servers = `${zooKeeper.connectString}/requests/${(chroots += 1)}`;
    const client = closing(await connect({ servers, ...options }));
    await client.ensurePath('/');
    return client;
  }

  it('creates, reads, changes and deletes a znode', async () => {
    const client = await connected();

    const created = await client.create2('/a', 'grüße');
    const changed = await client.setData('/a', Buffer.from('later'), 0);
    const read = await client.getData('/a');
    await client.delete('/a', 1);

    expect(created).toMatchObject({ path: '/a', stat: { version: 0, dataLength: 7, ephemeralOwner: 0n } });
    expect(created.stat.ctime).toBeGreaterThan(1e12);
    expect(changed.version).toBe(1);
    expect(changed.mzxid).toBeGreaterThan(created.stat.mzxid);
    expect(read).toEqual({ data: Buffer.from('later'), stat: changed });
    expect(await client.exists('/a')).toBeUndefined();
  });

  it('makes ephemeral, sequential, container and time-limited znodes', async () => {
    const client = await connected();

    const paths = await Promise.all([
      client.create('/e', '', { ephemeral: true }),
      client.create('/s-', '', { sequential: true }),
      client.create('/c', '', { container: true }),
      client.create('/t', '', { ttlMs: 60_000 }),
      client.create('/ts-', '', { ttlMs: 60_000, sequential: true }),
    ]);

    expect(paths).toEqual(['/e', '/s-0000000001', '/c', '/t', '/ts-0000000004']);
    expect((await client.exists('/e'))?.ephemeralOwner).toBe(client.sessionId);
    await expect(client.create('/x', '', { container: true, ephemeral: true })).rejects.toMatchObject({
      code: 'ZK_BAD_ARGUMENTS',
    });
    await expect(client.create('/x', '', { ttlMs: 5, ephemeral: true })).rejects.toMatchObject({
      code: 'ZK_BAD_ARGUMENTS',
    });
  });

  it('names the error, the path without chroot and the server code', async () => {
    const client = await connected();
    await client.create('/full');
    await client.create('/full/child', '', { ephemeral: true });

    const expectations: [Promise<unknown>, string, number][] = [
      [client.getData('/none'), 'ZK_NO_NODE', -101],
      [client.create('/full'), 'ZK_NODE_EXISTS', -110],
      [client.setData('/full', '', 7), 'ZK_BAD_VERSION', -103],
      [client.delete('/full'), 'ZK_NOT_EMPTY', -111],
      [client.create('/full/child/x'), 'ZK_NO_CHILDREN_FOR_EPHEMERALS', -108],
      [client.create('/bad', '', { acl: [{ permissions: 31, scheme: 'nonsense', id: '' }] }), 'ZK_INVALID_ACL', -114],
    ];

    for (const [outcome, code, serverCode] of expectations) {
      const path = expect.stringMatching(/^\/(none|full|full\/child\/x|bad)$/) as string;
      await expect(outcome).rejects.toMatchObject({ code, serverCode, path });
    }
  });

  it.each(['', 'relative', '/trailing/', '/double//slash'])('refuses the path "%s" before sending it', async (path) => {
    const client = await connected();
    const before = client.counters.requests;

    await expect(client.getData(path)).rejects.toMatchObject({ code: 'ZK_BAD_ARGUMENTS', path });

    expect(client.counters.requests).toBe(before);
  });

  it('refuses a body the server would hang up on', async () => {
    const client = await connected();

    await expect(client.create('/big', Buffer.alloc(1024 * 1024))).rejects.toMatchObject({ code: 'ZK_BAD_ARGUMENTS' });

    expect(await client.create('/large', Buffer.alloc(1_000_000))).toBe('/large');
    expect((await client.getData('/large')).data).toHaveLength(1_000_000);
  });

  it('lists children, with and without stat', async () => {
    const client = await connected();
    await Promise.all([client.create('/p'), client.create('/p/a'), client.create('/p/b')]);

    const { children, stat } = await client.getChildren2('/p');

    expect(children.sort()).toEqual(['a', 'b']);
    expect((await client.getChildren('/p')).sort()).toEqual(['a', 'b']);
    expect(stat.numChildren).toBe(2);
  });

  it('applies a multi as a whole and returns a result per part', async () => {
    const client = await connected();
    await client.create('/m');
    await client.create('/gone');

    const results = await client.multi([
      { op: 'check', path: '/m', version: 0 },
      { op: 'create', path: '/m/lock-', data: 'owner', ephemeral: true, sequential: true },
      { op: 'set', path: '/m', data: 'x', version: 0 },
      { op: 'delete', path: '/gone' },
    ]);

    const [, created, set] = results;
    expect(results.map(({ op }) => op)).toEqual(['check', 'create', 'set', 'delete']);
    expect(set).toMatchObject({ stat: { version: 1 } });
    expect(created).toEqual({
      op: 'create',
      path: '/m/lock-0000000000',
      stat: await client.exists('/m/lock-0000000000'),
    });
  });

  it('gives the exact stat of a create in a multi without a set, but for the time', async () => {
    const client = await connected();

    const [created] = await client.multi([{ op: 'create', path: '/only', data: 'ä' }]);

    const stat = await client.exists('/only');
    if (created?.op !== 'create' || stat === undefined) throw new Error('not created');
    expect({ ...created.stat, ctime: stat.ctime, mtime: stat.mtime }).toEqual(stat);
    expect(Math.abs(created.stat.ctime - stat.ctime)).toBeLessThan(5000);
  });

  it('says which part of a multi was refused, and changes nothing', async () => {
    const client = await connected();
    await client.create('/m');

    const refused = client.multi([
      { op: 'set', path: '/m', data: 'x' },
      { op: 'delete', path: '/missing' },
      { op: 'create', path: '/n' },
    ]);

    await expect(refused).rejects.toBeInstanceOf(MultiError);
    await expect(refused).rejects.toMatchObject({ code: 'ZK_NO_NODE', failedIndex: 1, path: '/missing' });
    expect((await client.exists('/m'))?.version).toBe(0);
    expect(await client.multi([])).toEqual([]);
  });

  it('reads several znodes in one go, failures included', async () => {
    const client = await connected();
    await Promise.all([client.create('/r', 'body'), client.create('/r/c')]);

    const results = await client.multiRead([
      { read: 'data', path: '/r' },
      { read: 'children', path: '/r' },
      { read: 'data', path: '/missing' },
    ]);

    expect(results).toMatchObject([
      { read: 'data', path: '/r', data: Buffer.from('body'), stat: { version: 0 } },
      { read: 'children', path: '/r', children: ['c'] },
      { read: 'error', path: '/missing', error: { code: 'ZK_NO_NODE' } },
    ]);
  });

  it('makes missing parents, the chroot among them', async () => {
    const client = closing(await connect({ servers: `${zooKeeper.connectString}/not/made/yet` }));

    await client.ensurePath('/a/b/c');
    await client.ensurePath('/a/b/c');

    const plain = closing(await connect({ servers: zooKeeper.connectString }));
    expect(await plain.exists('/not/made/yet/a/b/c')).toBeDefined();
  });

  it('deletes a tree, and is content when it is gone', async () => {
    const client = await connected();
    await client.ensurePath('/t/a/b/c');
    await Promise.all(Array.from({ length: 1200 }, (_, i) => client.create(`/t/a/${i}`)));

    await client.deleteRecursive('/t');
    await client.deleteRecursive('/t');

    expect(await client.getChildren('/')).toEqual([]);
  });

  it('syncs', async () => {
    const client = await connected();

    await expect(client.sync('/')).resolves.toBeUndefined();
  });

  it('sets and reads ACLs, and lets digest users in alone', async () => {
    const owner = await connected({ auth: [{ scheme: 'digest', auth: 'user:secret' }] });
    await owner.create('/private', 'x', { acl: [{ permissions: 31, scheme: 'auth', id: '' }] });
    const stranger = closing(await connect({ servers: `${zooKeeper.connectString}/requests/${chroots}` }));

    await expect(stranger.getData('/private')).rejects.toMatchObject({ code: 'ZK_NO_AUTH' });
    expect((await owner.getAcl('/private')).acl).toMatchObject([{ permissions: 31, scheme: 'digest' }]);
    const stat = await owner.setAcl('/private', [{ permissions: 1, scheme: 'world', id: 'anyone' }], 0);

    expect(stat.aversion).toBe(1);
    expect((await stranger.getData('/private')).data.toString()).toBe('x');
  });

  it('uses the default ACL of the connection for every create', async () => {
    const defaultAcl = [{ permissions: 1, scheme: 'world', id: 'anyone' }];
    const client = await connected();
    const restricted = closing(
      await connect({ servers: `${zooKeeper.connectString}/requests/${chroots}`, defaultAcl }),
    );
    await restricted.create('/plain');
    await restricted.multi([{ op: 'create', path: '/multi' }]);

    expect((await client.getAcl('/plain')).acl).toEqual(defaultAcl);
    expect((await client.getAcl('/multi')).acl).toEqual(defaultAcl);
  });

  it('counts requests, operations and what is pending', async () => {
    const client = await connected();
    const before = { ...client.counters };

    const both = Promise.all([
      client.exists('/'),
      client.multi([
        { op: 'check', path: '/' },
        { op: 'create', path: '/x' },
      ]),
    ]);
    const during = client.counters.pending;
    await both;

    expect(during).toBe(2);
    expect(client.counters).toMatchObject({
      requests: before.requests + 2,
      operations: before.operations + 3,
      writes: before.writes + 2,
      pending: 0,
    });
  });

  it('sends a call at once while nothing is on its way, and what a tick asks for meanwhile in order and in one write', async () => {
    const chunks: number[] = [];
    const asked: (() => void)[] = [];
    const answerAll = () => asked.splice(0).forEach((answer) => answer());
    const server = await stopping(
      ScriptedServer.start(4000, ({ xid, connection }) => {
        asked.push(() => connection.reply(xid));
        if (server.requests.length >= 4) answerAll();
      }),
    );
    const client = closing(await connect({ servers: server.connectString }));
    server.connections[0]?.socket.on('data', (chunk: Buffer) => chunks.push(chunk.length));

    const first = client.sync('/first');
    const sentAtOnce = client.counters.requests;
    await eventually(() => expect(chunks).toHaveLength(1));
    await Promise.all([client.sync('/a'), Promise.resolve().then(() => client.sync('/b')), client.sync('/c'), first]);

    expect(sentAtOnce).toBe(1);
    expect(chunks).toHaveLength(2);
    expect(server.requests.map(({ body }) => body.toString().slice(-1))).toEqual(['t', 'a', 'c', 'b']);
  });

  it('answers calls that found no server within the session timeout', async () => {
    const client = closing(createZooKeeper({ servers: '127.0.0.1:1', sessionTimeoutMs: 200 }));

    await expect(client.getData('/')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
    await expect(client.getData('/')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
  });

  it('can be aborted while connecting', async () => {
    const abort = new AbortController();
    const connecting = connect({ servers: '127.0.0.1:1' }, abort.signal);

    abort.abort(new Error('enough'));

    await expect(connecting).rejects.toThrow('enough');
  });

  it('moves to a server of a new list without losing its session', async () => {
    const first = await stopping(ScriptedServer.start(4000, ({ xid, connection }) => connection.reply(xid)));
    const second = await stopping(ScriptedServer.start(4000, ({ xid, connection }) => connection.reply(xid)));
    const client = closing(await connect({ servers: first.connectString }));
    const epoch = client.sessionEpoch;
    const answered = client.sync('/');

    client.resetServers([{ host: '127.0.0.1', port: second.port }]);
    await answered;
    await eventually(() => expect(second.connections).toHaveLength(1));

    await client.sync('/');
    expect(client.sessionEpoch).toBe(epoch);
    expect(second.connections[0]?.requestedSession.readBigInt64BE()).toBe(client.sessionId);
    expect(() => client.resetServers([{ host: 'h', port: 1, chroot: '/other' }])).toThrow('chroot');
  });
});
