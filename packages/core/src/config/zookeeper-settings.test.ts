import { mapOf } from '@nodepool/zk-protocol';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ProblemCollector } from './problems.js';
import { parseSource } from './source-document.js';
import { substituteEnvironment } from './substitute.js';
import { formatZooKeeperServers, readZooKeeperSettings } from './zookeeper-settings.js';

interface HostsVector {
  servers: { host: string; port: number; chroot: string | null }[];
  string: string;
  note?: string;
}
const { zookeeperHosts } = JSON.parse(
  readFileSync(new URL('../../test/fixtures/config-conversions.json', import.meta.url), 'utf8'),
) as { zookeeperHosts: HostsVector[] };

function read(yaml: string) {
  const document = parseSource('f', yaml, substituteEnvironment(yaml, {}));
  const top = mapOf(document.value);
  const problems = new ProblemCollector();
  const section = (key: string) => ({ document, value: top[key] });
  const settings = readZooKeeperSettings(
    {
      servers: section('zookeeper-servers'),
      tls: section('zookeeper-tls'),
      digest: top['zookeeper-digest'],
      timeout: top['zookeeper-timeout'],
      access: top['embedded-zookeeper-access'],
    },
    problems,
  );
  return { settings, errors: problems.errors, warnings: problems.warnings };
}

describe('ZooKeeper servers', () => {
  it.each(zookeeperHosts.filter(({ note }) => note === undefined))('are written as $string', ({ servers, string }) => {
    const written = servers.map(({ chroot, ...server }) => (chroot === null ? server : { ...server, chroot }));
    const { settings } = read(JSON.stringify({ 'zookeeper-servers': written }));

    expect(formatZooKeeperServers(settings.servers)).toBe(string);
  });

  it('share one chroot, at any position in the list', () => {
    const { settings, errors, warnings } = read(
      'zookeeper-tls: {cert: c, key: k, ca: a}\nzookeeper-servers: [{host: a, chroot: /np/}, {host: b, chroot: /np}]',
    );

    expect(formatZooKeeperServers(settings.servers)).toBe('a:2281,b:2281/np');
    expect(settings.servers.map(({ chroot }) => chroot)).toEqual(['/np', '/np']);
    expect(errors).toEqual([]);
    expect(warnings).toEqual([expect.objectContaining({ path: 'zookeeper-servers[0].chroot' })]);
  });

  it('read a relative chroot as an absolute one, with a warning', () => {
    const { settings, errors, warnings } = read('zookeeper-servers: [{host: localhost, chroot: np}]');

    expect(formatZooKeeperServers(settings.servers)).toBe('localhost:2181/np');
    expect(errors).toEqual([]);
    expect(warnings).toEqual([expect.objectContaining({ message: 'is taken as "/np": a chroot begins with "/"' })]);
  });

  it.each([
    ['[{host: a, chroot: /x}, {host: b, chroot: /y}]', /share one chroot/],
    ['[{host: a, chroot: ./np}]', /absolute ZooKeeper path/],
    ['[{host: a, chroot: /a//b}]', /absolute ZooKeeper path/],
    ['[{host: "a:2181"}]', /give the port as "port"/],
    ['[{host: "a,b"}]', /expected one host name/],
  ])('%s is an error', (servers, message) => {
    expect(read(`zookeeper-servers: ${servers}`).errors).toEqual([
      expect.objectContaining({ message: expect.stringMatching(message) as string }),
    ]);
  });

  it('may have their address in brackets', () => {
    expect(read('zookeeper-servers: [{host: "[::1]"}]').settings.servers[0]?.host).toBe('::1');
  });

  it('cause a warning without TLS, unless they are on this machine', () => {
    expect(read('zookeeper-servers: [{host: zk1}]').warnings).toHaveLength(1);
    expect(read('zookeeper-servers: [{host: localhost}, {host: 127.0.0.2}]').warnings).toEqual([]);
    expect(read('{}').warnings).toEqual([]);
  });
});
