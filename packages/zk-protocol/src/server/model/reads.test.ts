import { beforeEach, expect, it } from 'vitest';
import { createRequest, ModelDriver } from '../../../test/server/model-driver.js';
import { addIdentity } from './acl.js';
import type { ModelConnection } from './connection.js';
import { ErrorCode } from './constants.js';
import { ServerModel } from './server-model.js';

let driver: ModelDriver;
let client: ModelConnection;

beforeEach(() => {
  driver = new ModelDriver();
  client = driver.connect();
});

it('sets a data watch on a missing znode for exists, but not for getData', () => {
  const missing = driver.apply(client, { op: 'getData', path: '/a', watch: true });
  expect(missing.reply.error).toBe(ErrorCode.noNode);
  expect(driver.apply(client, createRequest('/a')).events).toEqual([]);

  driver.apply(client, { op: 'exists', path: '/b', watch: true });

  expect(driver.apply(client, createRequest('/b')).events).toMatchObject([{ path: '/b' }]);
});

it('lists children in the configured order', () => {
  driver = new ModelDriver(new ServerModel({ arrange: (names) => names.reverse() }));
  client = driver.connect();

  const { reply } = driver.apply(client, createRequest('/a'), createRequest('/b'), {
    op: 'getChildren',
    path: '/',
    watch: false,
  });

  expect(reply.body).toEqual({ kind: 'strings', strings: ['b', 'a', 'zookeeper'] });
});

it('masks digests in an ACL for a client without admin permission', () => {
  addIdentity(client, 'digest', Buffer.from('ann:secret'));
  const acl = [
    { permissions: 31, scheme: 'auth', id: '' },
    { permissions: 1, scheme: 'world', id: 'anyone' },
  ];
  driver.apply(client, { op: 'create', path: '/a', data: null, acl, flags: 0 });
  const aclFor = (connection: ModelConnection) => driver.apply(connection, { op: 'getAcl', path: '/a' }).reply.body;

  expect(aclFor(client)).toMatchObject({ acl: [{ id: expect.stringMatching(/^ann:.{20}/) as string }, {}] });
  expect(aclFor(driver.connect())).toMatchObject({ acl: [{ id: 'ann:x' }, {}] });
});

it('lists the ephemerals of the session by prefix, and counts all descendants', () => {
  driver.apply(client, createRequest('/a'), createRequest('/a/e', 1), createRequest('/b', 1));

  const bodies = [
    { op: 'getEphemerals', prefix: '' } as const,
    { op: 'getEphemerals', prefix: '/a' } as const,
    { op: 'getAllChildrenNumber', path: '/a' } as const,
    { op: 'whoAmI' } as const,
  ].map((request) => driver.apply(client, request).reply.body);

  expect(bodies).toEqual([
    { kind: 'strings', strings: ['/a/e', '/b'] },
    { kind: 'strings', strings: ['/a/e'] },
    { kind: 'count', count: 1 },
    { kind: 'clients', clients: [{ scheme: 'ip', user: '127.0.0.1' }] },
  ]);
});

it('rejects reads whose results do not fit into one reply', () => {
  driver.apply(client, createRequest('/big', 0, 'x'.repeat(1_000_000)));
  const read = (count: number) =>
    driver.apply(client, {
      op: 'multiRead',
      parts: Array.from({ length: count }, () => ({ op: 'getData' as const, path: '/big', watch: false })),
    }).reply;

  expect(read(30)).toMatchObject({ error: ErrorCode.ok, body: { kind: 'multi' } });
  expect(read(40)).toMatchObject({ error: ErrorCode.marshalling });
});
