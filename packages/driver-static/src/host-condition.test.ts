import { VirtualClock } from '@nodepool/core/testing';
import { describe, expect, it } from 'vitest';
import { readProviderConfig } from './config.js';
import { downText, hostConditions, hostStatus, reasonOf } from './host-condition.js';
import { MonitoredHost } from './host-monitor.js';

const DAY_MS = 24 * 3_600_000;
const clock = new VirtualClock();

function monitored(name = 'h1') {
  const entry = { name: 'rack', driver: 'static', pools: [{ name: 'main', nodes: [{ name, labels: ['small'] }] }] };
  const config = readProviderConfig(entry, { labels: new Map(), diskimages: new Map(), problem: () => {} });
  const pool = config.pools.get('main');
  const host = pool?.hosts[0];
  if (pool === undefined || host === undefined) throw new Error('no host was read');
  return new MonitoredHost({ provider: 'rack', pool, host });
}

const failure = (kind: string, message = 'h1 port 22: it failed') =>
  Object.assign(new Error(message), { failure: kind });

describe('hostConditions', () => {
  it('are empty for a host that has not failed a check', () => {
    expect(hostConditions(monitored(), clock)).toEqual([]);
  });

  it.each([
    ['unresolved', 'NameUnresolved', 'add "h1" to the name service'],
    ['key-mismatch', 'HostKeyMismatch', 'set "host-key" to its new key'],
    ['no-common-key-type', 'HostKeyTypeUnknown', 'ssh-keygen -A'],
    ['no-common-method', 'SshMethodUnknown', 'KexAlgorithms'],
    ['refused', 'Refused', 'PerSourcePenaltyExemptList'],
    ['protocol', 'NotSsh', '"connection-port" 22'],
    ['of another version', 'NoAnswer', 'open port 22'],
  ])('give the reason and the next step of failure "%s"', (kind, reason, nextStep) => {
    const host = monitored();
    host.failedWith = failure(kind);

    const [condition] = hostConditions(host, clock);

    expect(condition).toMatchObject({ type: 'HostUnusable', severity: 'error', reason });
    expect(condition?.nextStep).toContain(nextStep);
    expect(condition?.message).toBe(reason === 'NoAnswer' ? 'it does not answer on port 22' : 'it failed');
  });

  it('put an IPv6 address in brackets', () => {
    const host = monitored('2001:db8::7');
    host.failedWith = new Error('refused');

    expect(hostConditions(host, clock)).toMatchObject([{ name: 'rack/zuul@[2001:db8::7]:22' }]);
  });

  it.each([0, -DAY_MS, DAY_MS])('report an accepted key change for a day, the clock is set by %i ms', async (byMs) => {
    const own = new VirtualClock();
    const host = monitored();
    host.keyChange = { atMs: own.now(), steadyMs: own.steadyNow(), keys: ['ssh-rsa OLD'] };

    own.set(own.now() + byMs);
    await own.advance(DAY_MS - 1);
    expect(hostConditions(host, own)).toMatchObject([{ type: 'HostKeyChanged', severity: 'warning' }]);
    await own.advance(1);
    expect(hostConditions(host, own)).toEqual([]);
  });
});

describe('hostStatus', () => {
  it('is unknown before the first check, then up or down', () => {
    const host = monitored();
    expect(hostStatus(host, [])).toMatchObject({ health: 'unknown', reason: undefined, slots: 1 });

    host.facts = { publicIpv4: '192.0.2.7', publicIpv6: null, hostKeys: [], checkedAtMs: 0 };
    expect(hostStatus(host, [])).toMatchObject({ health: 'up' });

    host.failures = 1;
    host.failedWith = failure('protocol');
    expect(hostStatus(host, [])).toMatchObject({ health: 'down', reason: 'NotSsh', message: 'it failed' });
  });

  it('is trusted for a host that is not contacted', () => {
    const host = monitored('fake-1');
    host.facts = { publicIpv4: null, publicIpv6: null, hostKeys: [], checkedAtMs: 0 };

    expect(hostStatus(host, [])).toMatchObject({ health: 'trusted' });
  });
});

it('takes an error without a class for a host that does not answer', () => {
  expect(reasonOf(new Error('timeout'))).toBe('NoAnswer');
  expect(downText(undefined)).toBe('the host does not answer');
});
