import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { checkIdentities, readProviderConfig } from './config.js';
import type { HostConfig } from './config.js';

interface Reported {
  path: string;
  message: string;
  severity: string;
}

function load(entry: JsonObject, labels = ['small', 'big']) {
  const problems: Reported[] = [];
  const config = readProviderConfig(entry, {
    labels: new Map(labels.map((name) => [name, { name, minReady: 0, maxReadyAgeMs: 0 }])),
    diskimages: new Map(),
    problem: (path, message, severity = 'error') => problems.push({ path: path.join('.'), message, severity }),
  });
  return { config, problems };
}

const withHosts = (...nodes: JsonObject[]): JsonObject => ({
  name: 'rack',
  driver: 'static',
  pools: [{ name: 'main', nodes }],
});

function onlyHost(node: JsonObject): { host: HostConfig; problems: Reported[] } {
  const { config, problems } = load(withHosts(node));
  const host = config.pools.get('main')?.hosts[0];
  if (host === undefined) throw new Error('no host was read');
  return { host, problems };
}

describe('readProviderConfig', () => {
  it('fills in the defaults', () => {
    const { host, problems } = onlyHost({ name: 'h1', labels: 'small' });

    expect(host).toEqual({
      name: 'h1',
      labels: ['small'],
      username: 'zuul',
      port: 22,
      connectionType: 'ssh',
      shellType: null,
      pythonPath: 'auto',
      timeoutMs: 5_000,
      hostKeyChecking: true,
      pinsHostKeys: false,
      hostKeys: [],
      maxParallelJobs: 1,
      path: ['pools', 0, 'nodes', 0],
    });
    expect(problems).toEqual([]);
  });

  it('takes every value of a host', () => {
    const { host } = onlyHost({
      name: 'h1',
      labels: ['small', 'big'],
      username: 'admin',
      timeout: 13,
      'host-key-checking': false,
      'host-key': ['ssh-ed25519 AAAA', 'ssh-rsa BBBB root@h1'],
      'connection-port': 5986,
      'connection-type': 'winrm',
      'shell-type': 'cmd',
      'python-path': '/usr/bin/python3',
      'max-parallel-jobs': 3,
    });

    expect(host).toMatchObject({
      labels: ['small', 'big'],
      username: 'admin',
      timeoutMs: 13_000,
      hostKeyChecking: false,
      hostKeys: ['ssh-ed25519 AAAA', 'ssh-rsa BBBB'],
      port: 5986,
      connectionType: 'winrm',
      shellType: 'cmd',
      pythonPath: '/usr/bin/python3',
      maxParallelJobs: 3,
    });
  });

  it('splits a text of labels at blanks and offers all of them in the pool', () => {
    const { config } = load(withHosts({ name: 'h1', labels: ' small  big ' }));

    expect(config.pools.get('main')?.hosts[0]?.labels).toEqual(['small', 'big']);
    expect([...(config.pools.get('main')?.labels.keys() ?? [])]).toEqual(['small', 'big']);
  });

  it('reads the old name of the port, with a warning', () => {
    const { host, problems } = onlyHost({ name: 'h1', labels: 'small', 'ssh-port': 2222 });

    expect(host.port).toBe(2222);
    expect(problems).toMatchObject([{ path: 'pools.0.nodes.0.ssh-port', severity: 'warning' }]);
  });

  it('reports labels the file does not define, at their place', () => {
    const { problems } = onlyHost({ name: 'h1', labels: ['small', 'huge'] });

    expect(problems).toMatchObject([{ path: 'pools.0.nodes.0.labels.1', severity: 'error' }]);
    expect(problems[0]?.message).toContain('label "huge" is not defined');
  });

  it('warns about a host key without its type, which no host has', () => {
    const { problems } = onlyHost({ name: 'h1', labels: 'small', 'host-key': 'AAAA' });

    expect(problems).toMatchObject([{ path: 'pools.0.nodes.0.host-key', severity: 'warning' }]);
  });

  it('warns about a host without labels', () => {
    const { problems } = onlyHost({ name: 'h1', labels: [] });

    expect(problems).toMatchObject([{ path: 'pools.0.nodes.0.labels', severity: 'warning' }]);
  });

  it('takes the last of two pools with one name', () => {
    const { config } = load({
      name: 'rack',
      pools: [
        { name: 'a', 'max-servers': 1, nodes: [] },
        { name: 'a', 'max-servers': 2, nodes: [] },
      ],
    });

    expect(config.pools.get('a')?.maxServers).toBe(2);
  });

  it('reads the common keys', () => {
    const { config } = load({
      name: 'rack',
      'max-concurrency': 4,
      priority: 10,
      pools: [{ name: 'a', nodes: [], 'max-servers': 7, priority: 5, 'node-attributes': { zone: 'east' } }],
    });

    expect(config).toMatchObject({ name: 'rack', driverName: 'static', maxConcurrency: 4, priority: 10 });
    expect(config.pools.get('a')).toMatchObject({ maxServers: 7, priority: 5, nodeAttributes: { zone: 'east' } });
  });
});

describe('checkIdentities', () => {
  it('reports a host that is in two providers of the file', () => {
    const first = load(withHosts({ name: 'h1', labels: 'small' })).config;
    const second = load({
      ...withHosts({ name: 'h0', labels: 'small' }, { name: 'h1', labels: 'big' }),
      name: 'rack2',
    }).config;
    const found: unknown[] = [];

    checkIdentities([first, second], (provider, path, message) => found.push([provider, path.join('.'), message]));

    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject(['rack2', 'pools.0.nodes.1.name', expect.stringContaining('provider "rack"')]);
  });

  it('accepts one host with two user names or two ports', () => {
    const { config } = load(
      withHosts(
        { name: 'h1', labels: 'small' },
        { name: 'h1', labels: 'small', username: 'other' },
        { name: 'h1', labels: 'small', 'connection-port': 23 },
      ),
    );
    const found: string[] = [];

    checkIdentities([config], (_provider, _path, message) => found.push(message));

    expect(found).toEqual([]);
  });
});
