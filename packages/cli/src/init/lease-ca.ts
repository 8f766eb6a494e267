import { readFile, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ScanQueue } from '@nodepool/core/ssh';
import { CliError, describeError } from '../command/errors.js';
import { sshKeygen } from '../command/ssh-keygen.js';
import { AT_ONCE, LESSEE_KEY_TYPE, logIn, type CheckOptions } from './check-host.js';
import type { CheckedHost } from './config-text.js';
import { describeHost } from './hosts.js';

const CANNOT_SIGN = 'ssh-keygen cannot make a certificate to check the machines with';

/** The key that signs certificates of leases. */
export interface LeaseCa {
  /** File with the private key. */
  readonly file: string;
  /** Public key, one line. */
  readonly publicKey: string;
}

/** @throws CliError it is not there, or `nodepool ca create` has not made it */
export async function readLeaseCa(file: string): Promise<LeaseCa> {
  const path = resolve(file);
  try {
    return { file: path, publicKey: (await readFile(`${path}.pub`, 'utf8')).trim() };
  } catch (error) {
    const fix = `make the key with nodepool ca create ${file}`;
    throw new CliError(`Cannot read the public key of --lease-ca: ${describeError(error)}; ${fix}`, { cause: error });
  }
}

/**
 * Logs in to machines with a certificate such as a lessee gets, and with no other key.
 * @returns those that do not take it
 * @throws CliError it cannot be signed
 */
export async function findUntrusting(
  hosts: readonly CheckedHost[],
  ca: LeaseCa,
  options: CheckOptions,
): Promise<CheckedHost[]> {
  const identity = join(options.directory, 'lessee');
  await sshKeygen(CANNOT_SIGN, ['-q', ...LESSEE_KEY_TYPE, '-N', '', '-f', identity], options.signal);
  const queue = new ScanQueue(AT_ONCE);
  const checks: Promise<boolean>[] = [];
  for (const [index, checked] of hosts.entries()) {
    const { user, host } = checked.host;
    const words = ['-q', '-s', ca.file, '-I', 'nodepool-init', '-n', `${user}@${host}`, '-V', '-5m:+5m'];
    await sshKeygen(CANNOT_SIGN, [...words, `${identity}.pub`], options.signal);
    const certificate = join(options.directory, `lessee-${index}-cert.pub`);
    await rename(`${identity}-cert.pub`, certificate);
    const check = async () => (await logIn(checked, { ...options, identity }, certificate)) === undefined;
    checks.push(queue.run(check, options.signal));
  }
  const trusting = await Promise.all(checks);
  return hosts.filter((_, index) => !trusting[index]);
}

/** What an administrator does on machines that do not take certificates. */
export function trustText(hosts: readonly CheckedHost[], { publicKey }: LeaseCa): string {
  const users = new Map<string, string[]>();
  for (const { host } of hosts) users.set(host.user, [...(users.get(host.user) ?? []), host.host]);
  return [
    `These machines do not take certificates of leases yet: ${hosts.map(({ host }) => describeHost(host)).join(', ')}`,
    'Let them, as root: write this line into /etc/ssh/lease_ca.pub',
    `  ${publicKey}`,
    'these at the top of /etc/ssh/sshd_config, and reload the SSH server (systemctl reload ssh, or sshd)',
    '  TrustedUserCAKeys /etc/ssh/lease_ca.pub',
    '  AuthorizedPrincipalsFile /etc/ssh/lease_principals/%u',
    ...[...users].flatMap(([user, names]) => [
      `and its own line into /etc/ssh/lease_principals/${user}`,
      ...names.map((name) => `  ${user}@${name}`),
    ]),
    'Without root, and docs/leases.md has a warning about it, into ~/.ssh/authorized_keys:',
    `  cert-authority,principals="USER@HOST" ${publicKey}`,
  ].join('\n');
}
