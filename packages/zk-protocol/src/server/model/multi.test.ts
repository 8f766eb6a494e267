import { expect, it } from 'vitest';
import { contentOf, createRequest, ModelDriver, OPEN } from '../../../test/server/model-driver.js';
import { ErrorCode } from './constants.js';

it('changes nothing when an operation fails, and names that operation', () => {
  const driver = new ModelDriver();
  const client = driver.connect();
  const watcher = driver.connect();
  driver.apply(client, createRequest('/a'));
  driver.apply(watcher, { op: 'addWatch', path: '/', mode: 'persistent-recursive' });
  const before = contentOf(driver.model);

  const { reply, events, transaction } = driver.apply(client, {
    op: 'multi',
    parts: [
      { op: 'create', path: '/a/b', data: null, acl: OPEN, flags: 0 },
      { op: 'setData', path: '/a/b', data: Buffer.from('x'), version: 0 },
      { op: 'delete', path: '/a/b', version: 1 },
      { op: 'check', path: '/a', version: 7 },
      { op: 'delete', path: '/a', version: -1 },
    ],
  });

  expect(reply.error).toBe(0);
  expect(reply.body).toEqual({
    kind: 'multi',
    results: [0, 0, 0, ErrorCode.badVersion, ErrorCode.runtimeInconsistency].map((error) => ({
      result: 'error',
      error,
    })),
  });
  expect(events).toEqual([]);
  expect(transaction?.changes).toEqual([]);
  expect(contentOf(driver.model)).toEqual({ ...(before as object), zxid: driver.model.lastZxid });
});

it('lets operations see the effects of earlier ones', () => {
  const driver = new ModelDriver();
  const client = driver.connect();

  const { reply } = driver.apply(client, {
    op: 'multi',
    parts: [
      { op: 'create', path: '/a', data: null, acl: OPEN, flags: 0 },
      { op: 'create', path: '/a/n', data: null, acl: OPEN, flags: 2 },
      { op: 'create', path: '/a/n', data: null, acl: OPEN, flags: 2 },
      { op: 'delete', path: '/a/n0000000000', version: -1 },
    ],
  });

  expect(reply.body).toMatchObject({
    results: [{ path: '/a' }, { path: '/a/n0000000000' }, { path: '/a/n0000000001' }, { result: 'delete' }],
  });
});
