import type { NodeRecord } from '@nodepool/zk-protocol';

const SSH_PORT = 22;

/** How to reach a node. */
export interface ConnectionDetails {
  /** `undefined` when the node has no address at all. */
  readonly address: string | undefined;
  /** `undefined` if the driver stores something other than a number. */
  readonly port: number | undefined;
  readonly username: string | null;
  /** `ssh` unless the node says otherwise. */
  readonly connectionType: string;
}

/** The address of a node, preferably its interface address, and how to log in. */
export function connectionDetails(node: NodeRecord): ConnectionDetails {
  const address = [node.interfaceIp, node.publicIpv4, node.publicIpv6, node.privateIpv4, node.hostname].find(Boolean);
  return {
    address: address ?? undefined,
    port: typeof node.connectionPort === 'number' ? node.connectionPort : undefined,
    username: node.username,
    connectionType: node.connectionType ?? 'ssh',
  };
}

/** Lines for a `known_hosts` file: one per host key the launcher has read from the node. */
export function knownHostsLines(node: NodeRecord): string[] {
  const { address, port } = connectionDetails(node);
  if (address === undefined) return [];
  const host = port === undefined || port === SSH_PORT ? address : `[${address}]:${port}`;
  return node.hostKeys.map((key) => `${host} ${key}`);
}
