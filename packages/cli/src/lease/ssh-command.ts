import { connectionDetails, shellWord } from '@nodepool/core/service';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { loginOptions, type NodeLogin } from './node-login.js';

/**
 * The command that logs in to the node; `undefined` when it is not reached by SSH.
 * @param login - `undefined`: with what ssh finds
 */
export function sshCommand(node: NodeRecord, login?: NodeLogin): string | undefined {
  const { address, port, username, connectionType } = connectionDetails(node);
  if (address === undefined || port === undefined || connectionType !== 'ssh') return undefined;
  const options = loginOptions(login).map((word) => `${/^\w+=[\w./-]+$/.test(word) ? word : shellWord(word)} `);
  return `ssh ${options.join('')}-p ${port} ${username === null ? '' : `${username}@`}${address}`;
}
