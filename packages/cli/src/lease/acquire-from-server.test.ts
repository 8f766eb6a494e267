import { silentLogger } from '@nodepool/core';
import { patientClock } from '@nodepool/zk-protocol';
import { expect, it, vi } from 'vitest';
import { LeaseServer } from '../../../client/test/lease-server.js';
import { globalOptions } from '../command/global-options.js';
import { UsageError } from '../command/usage-error.js';
import { acquireFromServer } from './acquire-from-server.js';
import type { AcquireOptions } from './acquire-options.js';

const OPTIONS: AcquireOptions = {
  ...{
    labels: ['small'],
    provider: undefined,
    priority: 100,
    timeoutMs: undefined,
    quiet: false,
    force: false,
    sshKeyFile: undefined,
  },
  ...{
    purpose: 'nodepool run: make',
    server: { url: undefined, tokenFile: undefined, caFile: undefined, isInsecure: false },
  },
};

async function start(state = 'active') {
  const server = await LeaseServer.start();
  server.state = state;
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const context = {
    ...{ env: {}, logger: silentLogger, clock: patientClock },
    options: globalOptions({ _: [], format: 'table', 'connect-timeout': '1s' }),
  };
  const acquire = (changes: Partial<AcquireOptions> = {}, signal = new AbortController().signal) =>
    acquireFromServer(
      context,
      { url: server.url, token: 'alice.secret', ca: undefined, isInsecure: false, options: '' },
      { ...OPTIONS, ...changes },
      signal,
    );
  return { server, acquire, said: () => written.mock.calls.map(([line]) => String(line)).join('') };
}

it('leases nodes, with the reason that others see', async () => {
  const { server, acquire, said } = await start();

  const lease = await acquire();

  expect(lease.nodes).toMatchObject([{ label: 'small', node: { id: '0000000001', interfaceIp: '192.0.2.7' } }]);
  expect(server.calls.find(({ line }) => line === 'POST /leases')?.body).toMatchObject({
    priority: 100,
    reason: expect.stringContaining('run: make, ') as string,
  });
  expect(said()).toMatch(/ s\] leases small from http:.*\n.* s\] lease lease1 is active\n$/);
  await lease.release();
});

it('says why it waits, each reason once', async () => {
  const { server, acquire, said } = await start('waiting');
  server.faults.push({ status: 503, code: 'starting' });
  const acquiring = acquire();
  await expect.poll(() => server.lines.length).toBeGreaterThan(2);
  server.change({ explanation: { summary: 'Request 200-1 waits: at quota' } });
  await expect.poll(said).toContain(' s] waits: at quota\n');
  server.change({ state: 'active' });

  await (await acquiring).release();

  expect(said()).toContain(' s] refused: starting; trying again\n');
  expect(said().match(/lease lease1 waits/g)).toHaveLength(1);
});

it('waits, and says so, while nodes of earlier leases are being deleted', async () => {
  const { server, acquire, said } = await start();
  const refusal = { status: 429, code: 'nodes-being-deleted' };
  const labelsAreAnswered = Promise.resolve();
  server.faults.push(labelsAreAnswered, refusal, refusal);

  await (await acquire()).release();

  expect(server.lines.filter((line) => line === 'POST /leases')).toHaveLength(3);
  expect(said().match(/refused: nodes-being-deleted; trying again/g)).toHaveLength(1);
});

it('ends the lease when the time is over, and when it is interrupted', async () => {
  const { server, acquire } = await start('waiting');

  await expect(acquire({ timeoutMs: 20, quiet: true })).rejects.toThrow(
    /^Lease for small was not fulfilled within 0.02 s; gave up$/,
  );

  expect(server.lease().state).toBe('ended');
  const reason = new Error('Ctrl-C');
  await expect(acquire({}, AbortSignal.abort(reason))).rejects.toBe(reason);
});

it.each([
  [{ provider: 'rack' }, '--provider needs ZooKeeper'],
  [{ force: true }, '--force needs ZooKeeper'],
])('says that %j has no meaning over HTTP', async (changes, message) => {
  const { server, acquire } = await start();

  await expect(acquire(changes)).rejects.toThrow(message);
  await expect(acquire(changes)).rejects.toThrow(UsageError);
  expect(server.lines).toEqual([]);
});

it('returns a node whose address could inject an option into ssh', async () => {
  const { server, acquire } = await start('waiting');
  const acquiring = acquire();
  const outcome = expect(acquiring).rejects.toThrow('is not used: its interface_ip "-oProxyCommand=x"');
  await expect.poll(() => server.lines.length).toBeGreaterThan(1);

  server.change({
    state: 'active',
    nodes: [{ id: '1', label: 'small', host: '-oProxyCommand=x', connection_type: 'ssh' }],
  });

  await outcome;
  expect(server.lease().state).toBe('ended');
});
