import { NodepoolClient } from '@nodepool/client';
import { expect, it } from 'vitest';
import { LeaseServer } from '../../../client/test/lease-server.js';
import { nodepool } from '../../test/program.js';

async function start() {
  const server = await LeaseServer.start();
  const client = new NodepoolClient({ url: server.url });
  const lease = await client.lease(['small'], { renew: false });
  const nodes = server.lease()['nodes'] as { id: string }[];
  const certificate = (...args: string[]) =>
    nodepool('certificate', 'lease1', ...args, '--server', server.url, '--connect-timeout', '1s');
  return { server, lease, nodes, certificate };
}

it('prints the certificate of a node alone', async () => {
  const { server, nodes, certificate } = await start();
  const [node = { id: '' }] = nodes;
  server.change({
    nodes: [
      { ...node, certificate: 'cert A' },
      { ...node, id: '2', certificate: 'cert B' },
    ],
  });

  expect(await certificate('2')).toMatchObject({ status: 0, stdout: 'cert B\n' });
  expect((await certificate()).stderr).toContain(`Name one of the nodes of lease lease1: ${node.id}, 2`);
});

it('says why there is none', async () => {
  const { server, nodes, certificate } = await start();
  expect(await certificate()).toMatchObject({ status: 1, stdout: '' });
  server.change({ nodes: nodes.map((node) => ({ ...node, certificate_problem: 'it cannot sign' })) });
  expect((await certificate()).stderr).toContain('has no certificate: it cannot sign');
  server.change({ state: 'ended', end_reason: 'it expired', nodes: [] });
  expect((await certificate()).stderr).toContain('Lease lease1 is ended: it expired');
});
