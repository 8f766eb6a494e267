import type { NodeRecord } from '@nodepool/zk-protocol';
import { shellWord } from '../command/shell-word.js';

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

/**
 * The command that logs in to the node; `undefined` when it is not reached by SSH.
 * @param identity - file with a private key; `undefined`: the defaults of ssh
 */
export function sshCommand(node: NodeRecord, identity?: string): string | undefined {
  const { address, port, username, connectionType } = connectionDetails(node);
  if (address === undefined || port === undefined || connectionType !== 'ssh') return undefined;
  const key = identity === undefined ? '' : `-i ${shellWord(identity)} `;
  return `ssh ${key}-p ${port} ${username === null ? '' : `${username}@`}${address}`;
}
