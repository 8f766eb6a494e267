import { randomBytes } from 'node:crypto';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';
import { loginOptions, undisturbedOptions, type NodeLogin } from '../lease/node-login.js';
import { connectionDetails } from '@nodepool/core/service';
import { forAnyShell } from './any-shell.js';

const DEFAULT_PORT = 22;
/** Detects a dead node after a minute. */
const LIVENESS = ['-o', 'ServerAliveInterval=15', '-o', 'ServerAliveCountMax=4'];
/** For steps without a user: no password prompt, and a time limit. */
const UNATTENDED = ['-o', 'BatchMode=yes', '-o', 'ConnectTimeout=5'];
/** A shared connection could lead to the node that had this address before. */
const OWN_CONNECTION = ['-o', 'ControlMaster=no', '-o', 'ControlPath=none'];

/** How `ssh` treats its input and output. */
export type SshMode = 'terminal' | 'streams' | 'unattended';

/** A node that is reached by SSH: the command lines for it. */
export class RemoteNode {
  /** User, address and port, for people. */
  readonly where: string;
  /** Folder in the home directory, unique to this use of the node. */
  readonly folder = `nodepool-ssh-${randomBytes(6).toString('hex')}`;
  readonly #options: readonly string[];
  readonly #address: string;

  /**
   * @param login - `undefined`: with what ssh finds
   * @throws CliError the node is not reached by SSH
   */
  constructor(node: NodeRecord, knownHostsFile: string, login?: NodeLogin) {
    const { address, port = DEFAULT_PORT, username, connectionType } = connectionDetails(node);
    if (connectionType !== 'ssh' || address === undefined) {
      const how = address === undefined ? 'has no address' : `is reached by ${connectionType}, not by ssh`;
      throw new CliError(`Node ${node.id} ${how}: use nodepool run with a command that can reach it`);
    }
    const user = username === null || username === '' ? [] : ['-l', username];
    this.where = `node ${node.id} (${user[1] === undefined ? '' : `${user[1]}@`}${address} port ${port})`;
    this.#address = address;
    this.#options = [
      ...['-o', `UserKnownHostsFile=${knownHostsFile}`, '-o', 'GlobalKnownHostsFile=/dev/null'],
      ...['-o', `StrictHostKeyChecking=${node.hostKeys.length > 0 ? 'yes' : 'accept-new'}`],
      ...['-o', 'UpdateHostKeys=no', ...OWN_CONNECTION, ...LIVENESS],
      ...[...undisturbedOptions, ...loginOptions(login)],
      ...['-p', String(port), ...user],
    ];
  }

  /** Arguments of `ssh` for a login shell. */
  login(mode: SshMode): string[] {
    return this.#ssh(mode);
  }

  /** Arguments of `ssh` for one of the scripts. @param args - after the folder */
  script(mode: SshMode, script: string, ...args: readonly string[]): string[] {
    return this.#ssh(mode, forAnyShell(['sh', '-c', script, 'nodepool-ssh', this.folder, ...args]));
  }

  #ssh(mode: SshMode, ...command: string[]): string[] {
    const further = mode === 'unattended' ? UNATTENDED : [];
    return [mode === 'terminal' ? '-t' : '-T', ...this.#options, ...further, '--', this.#address, ...command];
  }
}
