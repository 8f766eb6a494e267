import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startSshd } from '@nodepool/test-servers';
import type { SshdHandle, SshHost } from '@nodepool/test-servers';
import { silentLogger } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { systemLookup } from '@nodepool/core/ssh';
import type { LogFields, Logger } from '@nodepool/core';
import { systemClock } from '@nodepool/zk-protocol';
import type { Clock, JsonObject, NodeId, RequestId } from '@nodepool/zk-protocol';
import { entry, ready, useWorlds } from '../test/world.js';
import { MonitoredHost } from './host-monitor.js';
import type { WorldOptions } from '../test/world.js';

let sshd: SshdHandle;

beforeAll(async () => {
  sshd = await startSshd({ count: 2 });
});
afterAll(() => sshd.stop());

const openWorld = useWorlds();
/** A world that resolves names with the resolver of the machine. */
const open = (options: WorldOptions = {}) => openWorld({ lookup: systemLookup, ...options });

afterEach(() => Promise.all(sshd.hosts.map((host) => host.start())));

/** Interval of port checks with the random number of the world. */
const PORT_CHECK_MS = 40_000;

/** Retries of a failing host start at 1,750 ms and double, since the random number is always 0.5. */
const isRetryDelay = (ms: number) => ms % 1_750 === 0;

/** The system clock with short retry and port check intervals. */
const fastClock: Clock = {
  now: () => systemClock.now(),
  setTimer: (ms, fn) => systemClock.setTimer(isRetryDelay(ms) || ms === PORT_CHECK_MS ? 100 : ms, fn),
};

/** Collects log messages with the fields that give the reason. */
function notes(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const note = (message: string, fields?: LogFields) =>
    lines.push([message, fields?.['reason'], fields?.['changed'], fields?.error].filter(Boolean).join(': '));
  const logger: Logger = { ...silentLogger, info: note, warn: note, child: () => logger };
  return { logger, lines };
}

/** Resolves with the first warning. */
function warnings(): { logger: Logger; first: Promise<string> } {
  let report: (text: string) => void = () => {};
  const first = new Promise<string>((resolve) => (report = resolve));
  const logger: Logger = {
    ...silentLogger,
    warn: (message, fields) => report(`${message}: ${String(fields?.error)}`),
    child: () => logger,
  };
  return { logger, first };
}

function host(index: number): SshHost {
  const found = sshd.hosts[index];
  if (found === undefined) throw new Error(`there is no host ${index}`);
  return found;
}
const checked = ({ address, port }: { address: string; port: number }, more: JsonObject = {}): JsonObject => ({
  name: address,
  'connection-port': port,
  labels: ['small'],
  ...more,
});

describe('a host with host key checking', () => {
  it('is registered with all its keys', async () => {
    const { configure, until } = await open();

    await configure(entry([checked(host(0), { 'host-key': host(0).hostKeys[0] ?? '' })]));
    const [record] = await until(ready(1), 'the host is registered');

    expect([...(record?.hostKeys ?? [])].sort()).toEqual([...host(0).hostKeys].sort());
    expect(record).toMatchObject({ publicIpv4: host(0).address, hostname: host(0).address });
  });

  it('is not registered when a configured key is not among its own', async () => {
    const { logger, first } = warnings();
    const { configure, own } = await open({ logger });

    await configure(entry([checked(host(0), { 'host-key': host(1).hostKeys[0] ?? '' })]));

    await expect(first).resolves.toMatch(/configured host-key ssh-\S+ \S+ is not among the keys of the host/);
    expect(own()).toEqual([]);
  });

  it('delays no other host while it is dead, and is registered when it is back', async () => {
    const { configure, until, own } = await open({ clock: fastClock });
    await host(1).stop();

    await configure(entry([checked(host(1), { timeout: 5 }), checked(host(0))]));
    await until(ready(1), 'the living host is registered');
    expect(own().map((node) => node.hostname)).toEqual([host(0).address]);
    await host(1).start();

    await until(ready(2), 'the other one is registered as well');
  });

  it('loses its free records when a new launcher finds it dead', async () => {
    const { configure, until } = await open();
    await configure(entry([checked(host(0)), checked(host(1))]));
    await until(ready(2), 'both hosts are registered');
    await host(0).stop();

    await configure(entry([checked(host(0), { timeout: 5 }), checked(host(1))]));

    const records = await until((all) => all.some((node) => node.state === 'deleting'), 'the dead one is removed');
    expect(records.find((node) => node.state === 'deleting')?.hostname).toBe(host(0).address);
  });

  it('has its record updated after it was reinstalled', async () => {
    const { configure, until } = await open();
    await configure(entry([checked(host(0))]));
    await until(ready(1), 'the host is registered');

    await host(0).replaceKeys();
    await configure(entry([checked(host(0), { timeout: 6 })]));

    const wanted = [...host(0).hostKeys].sort().join();
    const [record] = await until(
      ([node]) => [...(node?.hostKeys ?? [])].sort().join() === wanted,
      'the new keys are stored',
    );
    expect(record?.state).toBe('ready');
  });

  it('is checked again when its node is returned, and registered at once', async () => {
    const { configure, until, write, deleteNode } = await open();
    await configure(entry([checked(host(0))]));
    const [record] = await until(ready(1), 'the host is registered');
    const id = record?.id as NodeId;

    await write(id, { state: 'used' });
    await deleteNode(id);

    const [successor] = await until((all) => ready(1)(all) && all[0]?.id !== id, 'it is registered again');
    expect(successor?.slot).toBe(0);
  });
});

describe('an idle host', () => {
  it('that dies is noticed without a request, and registered again when it answers', async () => {
    const { logger, lines } = notes();
    const { configure, until, deleteNode } = await open({ clock: fastClock, logger });
    await configure(entry([checked(host(0)), checked(host(1))]));
    await until(ready(2), 'both hosts are registered');

    await host(0).stop();
    const records = await until((all) => all.some(({ state }) => state === 'deleting'), 'the dead one is removed');
    const dead = records.find(({ state }) => state === 'deleting');
    await deleteNode(dead?.id as NodeId);
    await host(0).start();

    await until(ready(2), 'it is registered again');
    expect(dead?.hostname).toBe(host(0).address);
    await expect.poll(() => lines).toContain('Removed registration: the host does not answer');
  });
});

it('a host that dies while its node waits with a request is reported, for another to take its place', async () => {
  const { configure, until, write, unusable } = await open({ clock: fastClock });
  await configure(entry([checked(host(0))]));
  const [record] = await until(ready(1), 'the host is registered');
  await write(record?.id as NodeId, { allocatedTo: '200-0000000001' as RequestId });

  await host(0).stop();

  await expect
    .poll(() => unusable[0], { timeout: 20_000 })
    .toMatchObject({ id: record?.id, why: 'the host does not answer' });
});

describe('a host whose keys change', () => {
  /** Returns the node of a host whose keys were replaced meanwhile. @returns its first key before */
  async function returned(more: JsonObject) {
    const { logger, lines } = notes();
    let laterMs = 0;
    const clock: Clock = { ...fastClock, now: () => fastClock.now() + laterMs };
    const test = await open({ clock, logger });
    const provider = await test.configure(entry([checked(host(0), more)]));
    const [record] = await test.until(ready(1), 'the host is registered');
    const id = record?.id as NodeId;
    const [before = ''] = host(0).hostKeys;
    await test.write(id, { state: 'in-use' });
    await host(0).replaceKeys();
    laterMs = 10_000; // the last check is no longer fresh
    await test.write(id, { state: 'used' });
    await test.deleteNode(id);
    const later = (ms: number) => (laterMs += ms);
    return { ...test, provider, lines, before, id, later };
  }

  // Ends: HostKeyChanged Accepted
  it('is registered with the new ones, the log warns of it, and a condition for a day', async () => {
    const { until, lines, before, id, provider, later } = await returned({});

    await until((all) => ready(1)(all) && all[0]?.id !== id, 'it is registered again');

    expect(lines.find((line) => line.startsWith('Host key changed'))).toContain(before);
    const [warning] = provider.conditions();
    expect(warning).toMatchObject({ type: 'HostKeyChanged', severity: 'warning', reason: 'Accepted' });
    expect(warning?.message).toContain(before);
    later(23 * 3_600_000);
    expect(provider.conditions()).toEqual([warning]);
    later(3_600_000);
    expect(provider.conditions()).toEqual([]);
  });

  // Ends: HostUnusable HostKeyMismatch
  it('is refused when they are pinned, until its new key is configured', async () => {
    const { provider, own, configure } = await returned({ 'host-key-checking': 'pinned' });

    await expect.poll(() => provider.conditions()).toMatchObject([{ reason: 'HostKeyMismatch' }]);

    expect(own()).toEqual([]);
    expect(provider.conditions()[0]?.message).toMatch(/^the host no longer has its key .*, and .* is pinned: if/);
    const next = await configure(
      entry([checked(host(0), { 'host-key-checking': 'pinned', 'host-key': host(0).hostKeys[0] ?? '' })]),
    );
    await expect.poll(() => next.hosts()).toMatchObject([{ health: 'up' }]);
  });

  it('loses its free node, with the reason, when a new launcher finds a record with other keys', async () => {
    const { logger, lines } = notes();
    const { configure, until } = await open({ logger });
    await configure(entry([checked(host(0), { 'host-key-checking': 'pinned' })]));
    await until(ready(1), 'the host is registered');

    await host(0).replaceKeys();
    await configure(entry([checked(host(0), { 'host-key-checking': 'pinned', timeout: 6 })]));

    await until(([node]) => node?.state === 'deleting', 'its record is removed');
    await expect.poll(() => lines).toContain('Removed registration: the host does not have the expected key');
  });
});

describe('the conditions of hosts', () => {
  it('report each that does not answer or has another key, until its check passes', async () => {
    const { configure, until } = await open({ clock: fastClock });
    await host(0).stop();
    const provider = await configure(
      entry([
        checked(host(0), { timeout: 5 }),
        checked(host(1), { 'host-key': host(0).hostKeys[0] ?? '' }),
        checked({ address: 'fake-host', port: 22 }),
      ]),
    );

    await until(ready(1), 'the trusted host is registered');
    await expect.poll(() => provider.conditions()).toHaveLength(2);
    const [silent, other] = provider.conditions();
    expect(silent).toMatchObject({
      ...{ kind: 'host', name: `rack/zuul@${host(0).address}:${host(0).port}`, type: 'HostUnusable' },
      ...{ severity: 'error', reason: 'NoAnswer' },
      evidence: { provider: 'rack', pool: 'main', host: host(0).address, port: host(0).port },
    });
    expect(silent?.message).toBe(`it does not answer on port ${host(0).port}`);
    expect(silent?.evidence['lastError']).toMatch(/^connect ECONNREFUSED/);
    expect(provider.hosts()[0]?.message).toMatch(/within 5000 ms \(last: connect ECONNREFUSED/);
    expect(provider.hosts()).toMatchObject([
      { host: host(0).address, health: 'down', reason: 'NoAnswer', downSinceMs: silent?.sinceMs, nodes: [] },
      { host: host(1).address, health: 'down', reason: 'HostKeyMismatch', lastCheckMs: other?.lastSeenMs },
      { host: 'fake-host', health: 'trusted', reason: undefined, nodes: [{ state: 'ready' }] },
    ]);
    expect(silent?.nextStep).toContain(`open port ${host(0).port}`);
    expect(other).toMatchObject({ reason: 'HostKeyMismatch' });
    expect(other?.message).toMatch(/^the configured host-key .* is not among the keys of the host/);
    await host(0).start();
    await until(ready(2), 'the host is registered');

    expect(provider.conditions().map(({ reason }) => reason)).toEqual(['HostKeyMismatch']);
  });
});

it.each([-3_600_000, 3_600_000])('a check is fresh for a second, the clock is set by %i ms', async (byMs) => {
  const clock = new VirtualClock();
  const monitored = new MonitoredHost({ host: { name: 'h1', connectionType: 'ssh', hostKeyChecking: true } } as never);
  monitored.facts = { publicIpv4: null, publicIpv6: null, hostKeys: [], checkedAtMs: clock.steadyNow() };

  clock.set(clock.now() + byMs);
  await clock.advance(1_000);
  const before = monitored.isFresh(clock);
  await clock.advance(1);

  expect([before, monitored.isFresh(clock)]).toEqual([true, false]);
});
