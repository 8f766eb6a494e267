import { expect, it } from 'vitest';
import { describeHost, parseHost, parseHosts } from './hosts.js';

it.each([
  ['ci@build01', { user: 'ci', host: 'build01', port: 22 }, 'ci@build01'],
  ['ci@build01.example.com:2222', { user: 'ci', host: 'build01.example.com', port: 2222 }, undefined],
  ['root@192.0.2.7', { user: 'root', host: '192.0.2.7', port: 22 }, undefined],
  ['root@[2001:db8::7]:2222', { user: 'root', host: '2001:db8::7', port: 2222 }, undefined],
  ['root@2001:db8::7', { user: 'root', host: '2001:db8::7', port: 22 }, 'root@[2001:db8::7]'],
])('reads %s', (text, host, shown = text) => {
  expect(parseHost(text)).toEqual(host);
  expect(describeHost(host)).toBe(shown);
});

it.each([
  'build01',
  '@build01',
  'ci@',
  'ci@build01:',
  'ci@build01:0',
  'ci@build01:65536',
  'ci@build01:ssh',
  'ci@-oProxyCommand=x',
  '-l@build01',
  'ci@a b',
  'ci@a/b',
  'ci@[nonsense]',
  '',
])('refuses "%s"', (text) => {
  expect(() => parseHost(text)).toThrow(/is not a machine/);
});

it('refuses a machine that is named twice, however its port is written', () => {
  expect(() => parseHosts(['ci@a', 'ci@b', 'ci@a:22'])).toThrow('ci@a is named twice');
});
