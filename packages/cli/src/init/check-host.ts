import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkPort, ScanQueue, scanHostKeys, systemLookup } from '@nodepool/core/ssh';
import { shellWord } from '@nodepool/core/service';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { describeError } from '../command/errors.js';
import type { HostAddress } from './hosts.js';

/** What the check of one machine has found. */
export type HostCheck =
  | { readonly host: HostAddress; readonly keys: readonly string[] }
  | { readonly host: HostAddress; readonly problem: string };

/** How machines are checked. */
export interface CheckOptions {
  /** File with a private key; `undefined`: what ssh finds. */
  readonly identity: string | undefined;
  readonly timeoutMs: number;
  /** An empty directory for files of this check. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

/**
 * No key of the user's configuration is to log in instead: hardly any is of this type. ssh finds the private key of a certificate only
 * where it may offer plain keys of the type, too. All versions of ssh know the option by this name.
 */
export const LESSEE_KEY_TYPE = ['-t', 'ecdsa', '-b', '521'];
const CERTIFICATES_ONLY = [
  'PubkeyAcceptedKeyTypes=ecdsa-sha2-nistp521-cert-v01@openssh.com,ecdsa-sha2-nistp521',
  'PreferredAuthentications=publickey',
];

/** Each check is an ssh process for a moment. */
export const AT_ONCE = 32;

/**
 * Checks machines, several at a time: whether they answer, have SSH host keys, and let us in.
 * @param onDone - called for each machine when its check has ended
 */
export async function checkHosts(
  hosts: readonly HostAddress[],
  options: CheckOptions,
  onDone: (check: HostCheck) => void,
): Promise<HostCheck[]> {
  const queue = new ScanQueue(AT_ONCE);
  const checkOne = async (host: HostAddress) => {
    const check = await checkHost(host, options);
    onDone(check);
    return check;
  };
  return Promise.all(hosts.map((host) => queue.run(() => checkOne(host), options.signal)));
}

async function checkHost(target: HostAddress, options: CheckOptions): Promise<HostCheck> {
  const { host, port } = target;
  const { timeoutMs, signal } = options;
  try {
    // a scan would wait for a machine that boots
    if (!(await checkPort({ host, port, timeoutMs, signal })))
      return { host: target, problem: await whySilent(target) };
    const keys = await scanHostKeys({ host, port, timeoutMs, signal, connectionType: 'ssh' });
    const problem = await logIn({ host: target, keys }, options);
    return problem === undefined ? { host: target, keys } : { host: target, problem };
  } catch (error) {
    signal.throwIfAborted();
    if (!isNodepoolError(error)) throw error;
    return { host: target, problem: describeError(error) };
  }
}

async function whySilent({ host, port }: HostAddress): Promise<string> {
  const address = await systemLookup(host).catch(() => undefined);
  return address === undefined
    ? `no address is known for the name "${host}": correct it, or write the address`
    : `port ${port} does not answer: check that the machine is up, that sshd runs there, and the firewall between`;
}

/**
 * Logs in to a machine, and out.
 * @param certificate - file with a certificate of the identity, which alone logs in
 * @returns why it failed; `undefined`: it did not
 */
export async function logIn(
  { host: target, keys }: { readonly host: HostAddress; readonly keys: readonly string[] },
  options: CheckOptions,
  certificate?: string,
): Promise<string | undefined> {
  const { user, host, port } = target;
  const knownHosts = join(options.directory, randomBytes(6).toString('hex'));
  // ssh looks for the plain name where the port is 22
  const name = port === 22 ? host : `[${host}]:${port}`;
  const lines = keys.map((key) => `${name} ${key}\n`);
  await writeFile(knownHosts, lines.join(''), { mode: 0o600 });
  const { identity, timeoutMs, signal } = options;
  const settings = [
    ...['BatchMode=yes', `ConnectTimeout=${Math.ceil(timeoutMs / 1_000)}`, 'StrictHostKeyChecking=yes'],
    ...[`UserKnownHostsFile=${knownHosts}`, 'GlobalKnownHostsFile=/dev/null', 'UpdateHostKeys=no'],
    ...['ControlMaster=no', 'ControlPath=none'],
    ...['RemoteCommand=none', 'PermitLocalCommand=no', 'ForwardAgent=no'],
    ...(identity === undefined ? [] : ['IdentitiesOnly=yes']),
    ...(certificate === undefined ? [] : [`CertificateFile=${certificate}`, ...CERTIFICATES_ONLY]),
  ];
  const args = [
    ...['-T', '-n', ...settings.flatMap((setting) => ['-o', setting])],
    ...(identity === undefined ? [] : ['-i', identity]),
    ...['-p', String(port), '-l', user, '--', host, 'exit 0'],
  ];
  return new Promise((resolve, reject) => {
    execFile('ssh', args, { timeout: 2 * timeoutMs, signal }, (error, _stdout, stderr) => {
      if (error === null) resolve(undefined);
      else if (signal.aborted) reject(signal.reason as Error);
      else resolve(loginProblem(target, error, stderr));
    });
  });
}

/**
 * Why a login failed, in our words: what ssh prints may be text of the machine.
 * @param stderr - of ssh
 */
export function loginProblem(
  { user, host, port }: HostAddress,
  error: Error & { code?: unknown },
  stderr: string,
): string {
  if (error.code === 'ENOENT') return 'cannot log in: there is no program "ssh" on this machine; install OpenSSH';
  const last = stderr.trim().split(/\r?\n/).at(-1) ?? '';
  if (/permission denied/i.test(last)) {
    return (
      `the login as ${user} was refused: put your public key into ~/.ssh/authorized_keys of this user ` +
      '(ssh-copy-id does), or name another private key with --identity'
    );
  }
  const how =
    typeof error.code === 'number' ? `ssh ended with status ${error.code}` : 'ssh was ended, as it took too long';
  const command = ['ssh', '-p', String(port), '-l', user, '--', host, 'exit 0'].map(shellWord).join(' ');
  return `the login as ${user} failed: ${how}; try it by hand: ${command}`;
}
