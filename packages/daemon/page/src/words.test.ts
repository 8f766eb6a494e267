import { expect, it } from 'vitest';
import { actionInWords, causeInWords, count, sshCommand, toneOf, withoutSubject } from './words.js';

it('shows unknown causes and actions of other versions by their names', () => {
  expect(causeInWords('pool-full')).toBe('the pool is full');
  expect(causeInWords('some-new-rule')).toBe('some new rule');
  expect(actionInWords('some-action')).toBe('some-action');
});

it('removes the id of a request from a sentence that stands beside it', () => {
  expect(withoutSubject('Request 200-1 waits: full', '200-1')).toBe('Waits: full');
  expect(withoutSubject('Request 200-12 waits', '200-1')).toBe('Request 200-12 waits');
  expect(withoutSubject('', '200-1')).toBe('');
});

it('counts nouns', () => {
  expect([0, 1, 2].map((n) => count(n, 'host'))).toEqual(['0 hosts', '1 host', '2 hosts']);
});

it('has no tone for states it does not know', () => {
  expect([toneOf('ready'), toneOf('failed'), toneOf('new-state')]).toEqual(['good', 'bad', 'plain']);
});

it('writes an ssh command in which no part of an address is a word or an option of its own', () => {
  const login = { host: '192.0.2.7', port: 22, username: 'ci', connection_type: 'ssh' };

  expect(sshCommand(login)).toBe('ssh -p 22 ci@192.0.2.7');
  expect(sshCommand({ ...login, username: null, host: '2001:db8::1' })).toBe('ssh -p 22 2001:db8::1');
  expect(sshCommand({ ...login, username: `a'b; reboot #` })).toBe(`ssh -p 22 'a'\\''b; reboot #@192.0.2.7'`);
  expect(sshCommand({ ...login, username: '-oProxyCommand=x' })).toBe('ssh -p 22 -- -oProxyCommand=x@192.0.2.7');
  expect([sshCommand({ ...login, host: null }), sshCommand({ ...login, connection_type: 'winrm' })]).toEqual([
    undefined,
    undefined,
  ]);
});
