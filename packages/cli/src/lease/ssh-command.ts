import { connectionDetails } from '@nodepool/core/service';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { shellWord } from '../command/shell-word.js';

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
