import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { freePorts } from '@nodepool/test-servers';
import { silentLogger } from '@nodepool/core';
import type { HostLookup } from '@nodepool/core/ssh';
import { systemClock } from '@nodepool/zk-protocol';
import { readProviderConfig } from './config.js';
import { changedKeys, checkHost, needsContact } from './host-check.js';

const services = (lookup: HostLookup) => ({ clock: systemClock, logger: silentLogger, lookup, random: () => 0.5 });
const ipv4: HostLookup = () => Promise.resolve({ address: '127.0.0.1', family: 4 });
const unexpected: HostLookup = (name) => Promise.reject(new Error(`"${name}" was resolved`));
const signal = new AbortController().signal;
const ignore = () => {};

function host(more: object) {
  const nodes = [{ name: 'host.example.org', labels: ['small'], ...more }];
  const context = { labels: new Map(), diskimages: new Map(), problem: () => {} };
  const { pools } = readProviderConfig({ name: 'rack', driver: 'static', pools: [{ name: 'main', nodes }] }, context);
  const [found] = pools.get('main')?.hosts ?? [];
  if (found === undefined) throw new Error('no host was read');
  return found;
}

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});
async function openPort(): Promise<number> {
  const server = createServer((socket) => socket.end());
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

describe('needsContact', () => {
  it.each([
    [{}, true],
    [{ 'host-key-checking': false }, false],
    [{ 'host-key-checking': false, 'connection-type': 'winrm' }, true],
    [{ name: 'fake-1' }, false],
  ])('of a host with %j is %s', (more, expected) => {
    expect(needsContact(host(more))).toBe(expected);
  });
});

describe('checkHost', () => {
  it('gives a host whose name contains "fake" a fake key, without network', async () => {
    const facts = await checkHost(host({ name: 'fake-host' }), services(unexpected), signal, ignore);

    expect(facts).toMatchObject({ hostKeys: ['ssh-rsa FAKEKEY'], publicIpv4: null, publicIpv6: null });
  });

  it('only resolves a host without host key checking', async () => {
    const unreachable = services(() => Promise.resolve({ address: '2001:db8::7', family: 6 }));

    const facts = await checkHost(
      host({ 'host-key-checking': false, 'host-key': 'ssh-rsa AAAA' }),
      unreachable,
      signal,
      ignore,
    );

    expect(facts).toMatchObject({ hostKeys: ['ssh-rsa AAAA'], publicIpv4: null, publicIpv6: '2001:db8::7' });
  });

  it('needs an open port and no keys for another connection type', async () => {
    const winrm = host({ 'connection-type': 'winrm', 'connection-port': await openPort() });

    const facts = await checkHost(winrm, services(ipv4), signal, ignore);

    expect(facts).toMatchObject({ hostKeys: [], publicIpv4: '127.0.0.1' });
  });

  it('rejects a closed port of another connection type, even without host key checking', async () => {
    const [port] = await freePorts(1);
    const more = { 'connection-type': 'winrm', 'connection-port': port, 'host-key-checking': false, timeout: 1 };
    const failures: unknown[] = [];

    const checking = checkHost(host(more), services(ipv4), signal, (error) => failures.push(error));

    await expect(checking).rejects.toThrow('the port did not answer within 1000 ms');
    expect(failures[0]).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('names the host without an address', async () => {
    const checking = checkHost(host({}), services(unexpected), signal, ignore);

    await expect(checking).rejects.toMatchObject({ failure: 'unresolved', host: 'host.example.org' });
  });
});

describe('changedKeys', () => {
  it('are those replaced by a key of the same type', () => {
    const known = ['ssh-rsa OLD', 'ssh-ed25519 SAME', 'ecdsa GONE'];

    expect(changedKeys(known, ['ssh-rsa NEW', 'ssh-ed25519 SAME', 'ssh-dss ADDED'])).toEqual(['ssh-rsa OLD']);
  });
});
