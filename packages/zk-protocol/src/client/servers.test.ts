import { describe, expect, it } from 'vitest';
import { formatServer } from '../base/server-address.js';
import { parseConnectString, toEnsemble } from './servers.js';

describe('connect strings', () => {
  it.each([
    [
      'h1:1,h2:2',
      [
        ['h1', 1],
        ['h2', 2],
      ],
      '',
    ],
    ['h1', [['h1', 2181]], ''],
    [
      'h1:1,h2:2/zuul',
      [
        ['h1', 1],
        ['h2', 2],
      ],
      '/zuul',
    ],
    [
      'h1:1/zuul,h2:2/zuul',
      [
        ['h1', 1],
        ['h2', 2],
      ],
      '/zuul',
    ],
    ['h1:1/a/b/', [['h1', 1]], '/a/b'],
    ['h1:1/', [['h1', 1]], ''],
    [
      ' h1:1 , h2:2 ,',
      [
        ['h1', 1],
        ['h2', 2],
      ],
      '',
    ],
    [
      '[::1]:2182,[2001:db8::7]',
      [
        ['::1', 2182],
        ['2001:db8::7', 2181],
      ],
      '',
    ],
  ] as const)('reads %s', (text, servers, chroot) => {
    expect(parseConnectString(text)).toEqual({ servers: servers.map(([host, port]) => ({ host, port })), chroot });
  });

  it('defaults to the TLS port with TLS', () => {
    expect(parseConnectString('h1,h2:5', { tls: true }).servers).toEqual([
      { host: 'h1', port: 2281 },
      { host: 'h2', port: 5 },
    ]);
  });

  it.each([
    ['', 'empty'],
    ['h1:99999', '1 to 65535'],
    ['::1', 'IPv6 as [::1]:2181'],
    ['h1:x', 'is not host:port'],
    ['h1:1/a,h2:2/b', 'different chroots, "/a" and "/b"'],
    ['h1:1//a', 'is not a path'],
  ])('refuses "%s"', (text, message) => {
    expect(() => parseConnectString(text)).toThrow(message);
  });

  it('accepts a list whose entries repeat or omit the chroot', () => {
    const servers = [
      { host: 'h1', port: 1, chroot: '/c' },
      { host: '[::1]', port: 2 },
      { host: 'h3', port: 3, chroot: '/c/' },
    ];

    expect(toEnsemble(servers)).toEqual({
      servers: [
        { host: 'h1', port: 1 },
        { host: '::1', port: 2 },
        { host: 'h3', port: 3 },
      ],
      chroot: '/c',
    });
  });

  it('formats IPv6 in brackets', () => {
    expect(formatServer({ host: '::1', port: 2181 })).toBe('[::1]:2181');
  });
});
