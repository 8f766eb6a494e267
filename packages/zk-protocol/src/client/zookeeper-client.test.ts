import { describe, expect, it } from 'vitest';
import { World } from '../../test/support/world.js';
import { MultiError } from './contract/errors.js';

const world = new World({ tickMs: 200, javaOptions: ['-Dzookeeper.extendedTypesEnabled=true'] });

describe('a client', () => {
  it('creates, reads, changes and deletes a znode', async () => {
    const client = await world.connected();

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

  it('creates ephemeral, sequential, container and TTL znodes', async () => {
    const client = await world.connected();

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

  it('rejects with the error code, the path without chroot and the server error number', async () => {
    const client = await world.connected();
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

  it.each(['', 'relative', '/trailing/', '/double//slash'])('rejects the path "%s" before sending it', async (path) => {
    const client = await world.connected();
    const before = client.counters.requests;

    await expect(client.getData(path)).rejects.toMatchObject({ code: 'ZK_BAD_ARGUMENTS', path });

    expect(client.counters.requests).toBe(before);
  });

  it('rejects a request that is too large for the server', async () => {
    const client = await world.connected();

    await expect(client.create('/big', Buffer.alloc(1024 * 1024))).rejects.toMatchObject({ code: 'ZK_BAD_ARGUMENTS' });

    expect(await client.create('/large', Buffer.alloc(1_000_000))).toBe('/large');
    expect((await client.getData('/large')).data).toHaveLength(1_000_000);
  });

  it('lists children, with and without stat', async () => {
    const client = await world.connected();
    await Promise.all([client.create('/p'), client.create('/p/a'), client.create('/p/b')]);

    const { children, stat } = await client.getChildren2('/p');

    expect(children.sort()).toEqual(['a', 'b']);
    expect((await client.getChildren('/p')).sort()).toEqual(['a', 'b']);
    expect(stat.numChildren).toBe(2);
  });

  it('applies a multi and returns a result per operation', async () => {
    const client = await world.connected();
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

  it('returns the exact stat of a create in a multi, except for its times', async () => {
    const client = await world.connected();

    const [created] = await client.multi([{ op: 'create', path: '/only', data: 'ä' }]);

    const stat = await client.exists('/only');
    if (created?.op !== 'create' || stat === undefined) throw new Error('not created');
    expect({ ...created.stat, ctime: stat.ctime, mtime: stat.mtime }).toEqual(stat);
    expect(Math.abs(created.stat.ctime - stat.ctime)).toBeLessThan(5000);
  });

  it('names the failed operation of a multi, which changes nothing', async () => {
    const client = await world.connected();
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

  it('reads several znodes in one request, failures included', async () => {
    const client = await world.connected();
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

  it('syncs', async () => {
    const client = await world.connected();

    await expect(client.sync('/')).resolves.toBeUndefined();
  });

  it('sets and reads ACLs, and admits only the digest user', async () => {
    const owner = await world.connected({ auth: [{ scheme: 'digest', auth: 'user:secret' }] });
    await owner.create('/private', 'x', { acl: [{ permissions: 31, scheme: 'auth', id: '' }] });
    const stranger = await world.session();

    await expect(stranger.getData('/private')).rejects.toMatchObject({ code: 'ZK_NO_AUTH' });
    expect((await owner.getAcl('/private')).acl).toMatchObject([{ permissions: 31, scheme: 'digest' }]);
    const stat = await owner.setAcl('/private', [{ permissions: 1, scheme: 'world', id: 'anyone' }], 0);

    expect(stat.aversion).toBe(1);
    expect((await stranger.getData('/private')).data.toString()).toBe('x');
  });

  it('uses the default ACL of the connection for every create', async () => {
    const defaultAcl = [{ permissions: 1, scheme: 'world', id: 'anyone' }];
    const client = await world.connected();
    const restricted = await world.session({ defaultAcl });
    await restricted.create('/plain');
    await restricted.multi([{ op: 'create', path: '/multi' }]);

    expect((await client.getAcl('/plain')).acl).toEqual(defaultAcl);
    expect((await client.getAcl('/multi')).acl).toEqual(defaultAcl);
  });

  it('checks version 0 in a multi', async () => {
    const client = await world.connected();
    await client.create('/versioned');
    await client.setData('/versioned', '1');
    await client.setData('/versioned', '2');

    for (const operation of [
      { op: 'check', path: '/versioned', version: 0 },
      { op: 'set', path: '/versioned', data: '', version: 0 },
      { op: 'delete', path: '/versioned', version: 0 },
    ] as const) {
      await expect(client.multi([operation])).rejects.toMatchObject({ code: 'ZK_BAD_VERSION', failedIndex: 0 });
    }
    expect((await client.exists('/versioned'))?.version).toBe(2);
  });

  it('creates a sequential znode without prefix', async () => {
    const client = await world.connected();
    await client.create('/nodes');

    await expect(client.create('/nodes/', '', { sequential: true })).resolves.toBe('/nodes/0000000000');
  });

  it('stores an empty body', async () => {
    const client = await world.connected();
    await client.create('/empty', 'x');
    await client.setData('/empty', '');

    expect((await client.getData('/empty')).data).toHaveLength(0);
  });
});
