import type { LeaseView } from '@nodepool/core/launcher';
import {
  newLease,
  newPoolComponent,
  type LauncherId,
  type LeaseRecord,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { node, request } from '../../../test/support/world.js';
import { LEASE_SCHEMAS } from './lease-schemas.js';
import { leaseToApi } from './lease-to-api.js';

const login = { interfaceIp: '192.0.2.1', username: 'ci', connectionType: 'ssh', connectionPort: 2022 } as const;
const pod = {
  ...{ connectionType: 'kubectl', interfaceIp: 'pod-1', provider: 'cluster', pool: 'main' },
  connectionPort: { host: 'https://cluster.example.org', token: 'of-the-node', namespace: 'space' },
} as const;

function view(nodes: readonly NodeRecord[], changes: Partial<LeaseRecord> = {}, endMs?: number): LeaseView {
  const fields = { id: 'l1', owner: 'ci', token: 'ci', labels: ['small', 'large'], ttlMs: 60_000 };
  const lease = newLease({ ...fields, digest: 'of-the-request', keeper: 'nl01', publicKey: 'ssh-ed25519 AAAA' }, 1_500);
  const nodeIds = nodes.map(({ id }) => id);
  return { lease: { ...lease, state: 'active', nodeIds, ...changes }, nodes, request: undefined, endMs };
}

const NO_CERTIFICATES = new Map<NodeId, never>();

function nodesOf(shown: LeaseView, certificates: Parameters<typeof leaseToApi>[1] = NO_CERTIFICATES): unknown {
  return leaseToApi(shown, certificates, [])['nodes'];
}

it('has exactly the members of the schemas, and neither key nor digest of the record', () => {
  const shown = leaseToApi(view([node('1')]), NO_CERTIFICATES, []);
  const [first] = shown['nodes'] as object[];
  const known = (schema: string) => Object.keys((LEASE_SCHEMAS[schema]?.['properties'] ?? {}) as object);

  expect(Object.keys(shown).filter((key) => !known('Lease').includes(key))).toEqual([]);
  expect(Object.keys(first ?? {}).sort()).toEqual(known('LeasedNode').sort());
});

it('says in seconds when an active lease expires, or a waiting one gives up', () => {
  const at = (state: LeaseRecord['state'], endMs?: number) =>
    leaseToApi(view([], { state }, endMs), NO_CERTIFICATES, []);

  expect(at('active', 9_500)).toMatchObject({ created_time: 1.5, ttl: 60, expires: 9.5, gives_up: null });
  expect(at('waiting', 9_500)).toMatchObject({ expires: null, gives_up: 9.5, request: null });
  expect(at('ended')).toMatchObject({ expires: null, gives_up: null });
});

it('names the request of a waiting lease', () => {
  const waiting = { ...view([], { state: 'waiting' }), request: request('200-0000000001') };

  expect(leaseToApi(waiting, NO_CERTIFICATES, [])).toMatchObject({ request: '200-0000000001', nodes: [] });
});

it('has how to log in to each node, with the label that it was leased as', () => {
  const second = node('2', { ...login, hostKeys: ['ssh-ed25519 BBBB'] });
  const shown = view([second], { nodeIds: ['0000000001' as NodeId, second.id] });

  expect(nodesOf(shown)).toMatchObject([
    {
      ...{ id: second.id, label: 'large', host: '192.0.2.1', port: 2022, username: 'ci', connection_type: 'ssh' },
      ...{ known_hosts: ['[192.0.2.1]:2022 ssh-ed25519 BBBB'], kubeconfig: null },
    },
  ]);
});

it('leaves out how to log in to a node whose user would be an option of ssh', () => {
  expect(nodesOf(view([node('1', { ...login, username: '-oProxyCommand=id' })]))).toMatchObject([
    { host: null, port: null, username: null, known_hosts: [] },
  ]);
});

it('has the certificate of a node, or why there is none', () => {
  const nodes = [node('1', login), node('2', login), node('3', login)];
  const certificates = new Map([
    [nodes[0]?.id ?? ('' as NodeId), { line: 'ssh-cert AAAA', untilMs: 5_000, problem: undefined }],
    [nodes[1]?.id ?? ('' as NodeId), { line: undefined, untilMs: 0, problem: 'no key' }],
  ]);

  expect(nodesOf(view(nodes), certificates)).toMatchObject([
    { certificate: 'ssh-cert AAAA', certificate_expires: 5, certificate_problem: null },
    { certificate: null, certificate_expires: null, certificate_problem: 'no key' },
    { certificate: null, certificate_expires: null, certificate_problem: null },
  ]);
});

it('says of a node that its machine is gone', () => {
  const [lost, other] = [node('1', login), node('2', login)];
  const shown = { ...view([lost, other]), lostMachines: new Map([[lost.id, 'its instance does not exist any more']]) };

  expect(nodesOf(shown)).toMatchObject([
    { machine_problem: 'its instance does not exist any more' },
    { machine_problem: null },
  ]);
});

it('has a kubeconfig with the token of a cluster node, which is in no other member', () => {
  const [shown] = nodesOf(view([node('1', pod)])) as [{ kubeconfig: string }];
  const { kubeconfig, ...others } = shown;

  expect(kubeconfig).toContain('of-the-node');
  expect(JSON.stringify(others)).not.toContain('of-the-node');
});

it('has no kubeconfig for a slot, whose token is that of the whole machine, or a pool that keeps its nodes', () => {
  const pool = { hostname: 'nl01', version: '1', launcherId: 'nl01' as LauncherId, name: 'main' };
  const keeps = newPoolComponent({ ...pool, providerName: 'cluster', supportedLabels: [], notLent: 'no account' });
  const kept = leaseToApi(view([node('1', pod)]), NO_CERTIFICATES, [keeps]);

  for (const nodes of [kept['nodes'], nodesOf(view([node('1', { ...pod, slot: 0 })]))]) {
    expect(nodes).toMatchObject([{ kubeconfig: null }]);
    expect(JSON.stringify(nodes)).not.toContain('of-the-node');
  }
});
