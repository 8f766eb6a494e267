import { expect, it } from 'vitest';
import { newNode } from '@nodepool/zk-protocol';
import { keyIdOf, principalOf } from './principals.js';

const node = (changes: object) => newNode({ state: 'hold', username: 'zuul', interfaceIp: '192.0.2.7', ...changes }, 0);

it('is for the user of the node, or for that user on this host', () => {
  expect(principalOf(node({}), 'user')).toBe('zuul');
  expect(principalOf(node({}), 'host')).toBe('zuul@192.0.2.7');
  expect(principalOf(node({ username: 'CORP\\build$', interfaceIp: '2001:db8::1' }), 'host')).toBe(
    'CORP\\build$@2001:db8::1',
  );
});

it.each(['', 'zuul,root', 'zuul\nroot', 'zuul root', '-oProxyCommand=x', '*', '!zuul', 'größe'])(
  'is not there if the user is called %j',
  (username) => {
    expect(principalOf(node({ username }), 'user')).toBeUndefined();
  },
);

it('is not there without a user, without SSH, or on a host whose name would be several', () => {
  expect(principalOf(node({ username: null }), 'user')).toBeUndefined();
  expect(principalOf(node({ connectionType: 'winrm' }), 'user')).toBeUndefined();
  expect(principalOf(node({ interfaceIp: 'a,root' }), 'host')).toBeUndefined();
});

it('names lease, owner and label in one short line, whatever they contain', () => {
  const id = 'eb6ce155';
  expect(keyIdOf({ id, owner: 'team-a' }, 'small')).toBe('lease=eb6ce155 owner=team-a label=small');
  const odd = keyIdOf({ id, owner: 'a b\n(serial 0) CA\u0000é\ud800' }, 'l'.repeat(255));
  expect(odd).toMatch(/^lease=eb6ce155 owner=a%20b%0a%28serial%200%29%20CA%00%c3%a9%ef%bf%bd label=l{100}$/);
});
