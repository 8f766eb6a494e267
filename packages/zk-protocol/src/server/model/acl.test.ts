import { expect, it } from 'vitest';
import { ModelDriver } from '../../../test/server/model-driver.js';
import type { Acl } from '../../client/contract/types.js';
import { addIdentity, isAllowed, OPEN_ACL, Permission, READ_ACL, storedAcl } from './acl.js';
import { MAX_IDENTITIES } from './limits.js';
import { ErrorCode } from './constants.js';

it('sends no event to a client that may not read the znode', () => {
  const driver = new ModelDriver();
  const owner = driver.connect();
  const stranger = driver.connect();
  addIdentity(owner, 'digest', Buffer.from('ann:secret'));
  driver.apply(stranger, { op: 'addWatch', path: '/', mode: 'persistent-recursive' });

  const { events } = driver.apply(owner, {
    op: 'create',
    path: '/secret',
    data: null,
    acl: [{ permissions: 31, scheme: 'auth', id: '' }],
    flags: 0,
  });

  expect(events).toEqual([]);
  expect(driver.apply(stranger, { op: 'getData', path: '/secret', watch: false }).reply.error).toBe(ErrorCode.noAuth);
  expect(driver.apply(owner, { op: 'getData', path: '/secret', watch: false }).reply.error).toBe(0);
});

it.each([
  ['an empty list', [], undefined],
  ['an unknown scheme', [{ permissions: 31, scheme: 'sasl', id: 'x' }], undefined],
  ['a malformed digest', [{ permissions: 31, scheme: 'digest', id: 'ann' }], undefined],
  ['a malformed network', [{ permissions: 31, scheme: 'ip', id: '10.0.0.0/33' }], undefined],
  ['identities of a caller who proved none', [{ permissions: 31, scheme: 'auth', id: '' }], undefined],
  ['duplicates', [READ_ACL[0], READ_ACL[0]], READ_ACL],
  ['the open list', [{ permissions: 31, scheme: 'world', id: 'anyone' }], OPEN_ACL],
])('stores %s', (_what, acl, expected) => {
  expect(storedAcl(acl as Acl[], [{ scheme: 'ip', id: '127.0.0.1' }])).toEqual(expected);
});

it.each([
  ['10.1.0.0/16', '10.1.2.3', true],
  ['10.1.0.0/16', '10.2.2.3', false],
  ['10.1.2.3', '10.1.2.3', true],
  ['fd00::/8', 'fd12::1', true],
  ['fd00::/8', '10.1.2.3', false],
])('checks network %s for address %s', (id, address, expected) => {
  const acl = [{ permissions: 1, scheme: 'ip', id }];

  expect(isAllowed(acl, Permission.read, [{ scheme: 'ip', id: address }])).toBe(expected);
  expect(isAllowed(acl, Permission.write, [{ scheme: 'ip', id: address }])).toBe(false);
});

it('accepts a limited number of identities per connection', () => {
  const connection = { sessionId: 0n, auth: [{ scheme: 'ip', id: '127.0.0.1' }] };
  const add = (name: string) => addIdentity(connection, 'digest', Buffer.from(`${name}:secret`));

  const accepted = Array.from({ length: MAX_IDENTITIES }, (_, index) => add(`user-${index}`));

  expect(accepted.filter(Boolean)).toHaveLength(MAX_IDENTITIES - 1);
  expect(add('user-0')).toBe(true);
  expect(addIdentity(connection, 'sasl', Buffer.alloc(0))).toBe(false);
});
