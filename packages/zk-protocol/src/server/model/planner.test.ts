import { expect, it } from 'vitest';
import { createRequest, ModelDriver } from '../../../test/server/model-driver.js';
import { ErrorCode } from './constants.js';

it('numbers sequential znodes by all children ever created', () => {
  const driver = new ModelDriver();
  const client = driver.connect();
  driver.apply(client, createRequest('/q'), createRequest('/q/lock'), { op: 'delete', path: '/q/lock', version: -1 });

  const { reply } = driver.apply(client, createRequest('/q/n-', 2));

  expect(reply.body).toMatchObject({ kind: 'path-stat', path: '/q/n-0000000001' });
  expect(driver.apply(client, { op: 'exists', path: '/q', watch: false }).reply.body).toMatchObject({
    stat: { cversion: 3, numChildren: 1 },
  });
});

it.each([
  ['a negative flag', createRequest('/a', -1), ErrorCode.badArguments],
  ['a flag beyond the known ones', createRequest('/a', 7), ErrorCode.badArguments],
  ['a TTL flag without time to live', createRequest('/a', 5), ErrorCode.badArguments],
  ['a path without slash', createRequest('a'), ErrorCode.badArguments],
  ['a relative part', createRequest('/p/..'), ErrorCode.badArguments],
  ['a missing parent', createRequest('/missing/a'), ErrorCode.noNode],
  ['a child of an ephemeral', createRequest('/e/a'), ErrorCode.noChildrenForEphemerals],
  ['an existing path', createRequest('/e'), ErrorCode.nodeExists],
  [
    'the deletion of a special znode',
    { op: 'delete', path: '/zookeeper', version: -1 } as const,
    ErrorCode.badArguments,
  ],
  ['the deletion of a parent', { op: 'delete', path: '/p', version: -1 } as const, ErrorCode.notEmpty],
  ['another version', { op: 'setData', path: '/p', data: null, version: 3 } as const, ErrorCode.badVersion],
  ['an empty ACL', { op: 'setAcl', path: '/p', acl: [], version: -1 } as const, ErrorCode.invalidAcl],
])('rejects %s, which still counts as a transaction', (_what, request, error) => {
  const driver = new ModelDriver();
  const client = driver.connect();
  driver.apply(client, createRequest('/e', 1), createRequest('/p'), createRequest('/p/c'));
  const { lastZxid } = driver.model;

  const { reply, transaction } = driver.apply(client, request);

  expect(reply.error).toBe(error);
  expect(transaction).toMatchObject({ zxid: lastZxid + 1, changes: [] });
});
