import { newNode } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { kubeconfigOf } from './kubeconfig.js';

const connectionPort = {
  host: 'https://c:6443',
  token: 't0ken',
  namespace: 'main-1',
  user: 'zuul-worker',
  ca_crt: 'Q0E=',
};
const node = { ...newNode({ state: 'hold' }, 0), connectionType: 'kubectl', connectionPort };

it('writes a kubeconfig file for a node of a cluster', () => {
  expect(JSON.parse(kubeconfigOf(node) ?? '')).toEqual({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'node' },
    clusters: [{ name: 'cluster', cluster: { server: 'https://c:6443', 'certificate-authority-data': 'Q0E=' } }],
    users: [{ name: 'zuul-worker', user: { token: 't0ken' } }],
    contexts: [{ name: 'node', context: { cluster: 'cluster', user: 'zuul-worker', namespace: 'main-1' } }],
  });
});

it('skips the check of the server where the cluster does', () => {
  const insecure = { ...node, connectionPort: { ...connectionPort, skiptls: true, ca_crt: null } };

  expect(kubeconfigOf(insecure)).toContain('"cluster":{"server":"https://c:6443","insecure-skip-tls-verify":true}');
});

it('reaches the cluster as the launcher does: by its name in the certificate, and through its proxy', () => {
  const behind = { ...connectionPort, tls_server_name: 'cluster.example.org', proxy_url: 'socks5://proxy:1080' };

  const { clusters } = JSON.parse(kubeconfigOf({ ...node, connectionPort: behind }) ?? '') as { clusters: object[] };
  expect(clusters).toMatchObject([
    { cluster: { 'tls-server-name': 'cluster.example.org', 'proxy-url': 'socks5://proxy:1080' } },
  ]);
});

it('has none for nodes that are reached in another way, or whose record says too little', () => {
  expect(kubeconfigOf({ ...node, connectionType: 'ssh' })).toBeUndefined();
  expect(kubeconfigOf({ ...node, connectionType: null, connectionPort: 22 })).toBeUndefined();
  expect(kubeconfigOf({ ...node, connectionPort: { host: 'https://c' } })).toBeUndefined();
  expect(kubeconfigOf({ ...node, connectionPort: [] })).toBeUndefined();
});
