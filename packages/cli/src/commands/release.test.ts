import { NodepoolClient } from '@nodepool/client';
import { expect, it } from 'vitest';
import { LeaseServer } from '../../../client/test/lease-server.js';
import { nodepool } from '../../test/program.js';

async function start() {
  const server = await LeaseServer.start();
  const lease = await new NodepoolClient({ url: server.url }).lease(['small'], { renew: false });
  const release = (...ids: string[]) => nodepool('release', ...ids, '--server', server.url, '--connect-timeout', '1s');
  return { server, lease, release };
}

it('returns all leases that exist, and names those that do not', async () => {
  const { server, release } = await start();

  expect(await release('nosuch', 'lease1', 'other')).toEqual({
    ...{ status: 1, stdout: '' },
    stderr: 'Lease lease1 is over: returned\nnodepool: refused: unknown-lease; refused: unknown-lease\n',
  });
  expect(server.lease().state).toBe('ended');
});

it('names the leases that are left when the server refuses', async () => {
  const { server, release } = await start();
  server.faults.push({ status: 401, code: 'bad-token' });

  const { status, stderr } = await release('lease1', 'lease2');

  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/^nodepool: refused: bad-token\..*; not returned: lease1 lease2\n$/),
  ]);
  expect(server.lease().state).toBe('active');
});

it('needs a server', async () => {
  expect(await nodepool('release', 'lease1')).toMatchObject({
    ...{
      status: 2,
      stderr: expect.stringContaining(
        'release needs a server: --server URL, NODEPOOL_SERVER, or --state-dir DIR',
      ) as string,
    },
  });
});
