import type { Json, NodeRecord } from '@nodepool/zk-protocol';
import { needsAddress } from '../contract/instance.js';

/**
 * A kubeconfig file for a node that is reached through the API of a cluster, with the token of the node: only for its user.
 * `undefined`: the node is reached in another way. JSON, which is YAML too.
 */
export function kubeconfigOf({ connectionType, connectionPort }: NodeRecord): string | undefined {
  if (needsAddress(connectionType) || !isMap(connectionPort)) return undefined;
  const { host, token, namespace, user, skiptls, ca_crt: authority } = connectionPort;
  const { tls_server_name: serverName, proxy_url: proxyUrl } = connectionPort;
  if (typeof host !== 'string' || typeof token !== 'string') return undefined;
  const name = typeof user === 'string' ? user : 'user';
  const cluster = {
    server: host,
    ...(skiptls === true && { 'insecure-skip-tls-verify': true }),
    ...(typeof authority === 'string' && authority !== '' && { 'certificate-authority-data': authority }),
    ...(typeof serverName === 'string' && { 'tls-server-name': serverName }),
    ...(typeof proxyUrl === 'string' && { 'proxy-url': proxyUrl }),
  };
  const context = { cluster: 'cluster', user: name, ...(typeof namespace === 'string' && { namespace }) };
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'node' },
    clusters: [{ name: 'cluster', cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name: 'node', context }],
  });
}

function isMap(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
