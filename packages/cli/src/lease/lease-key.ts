import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { NodepoolClient } from '@nodepool/client';
import { CliError, describeError } from '../command/errors.js';
import type { AcquireOptions } from './acquire-options.js';

/** A key that a server installs on the nodes of a lease. */
export interface LeaseKey {
  /** One line, as in a `.pub` file. */
  readonly publicKey: string;
  /** File with the private key, if it was made for this lease. */
  readonly identity: string | undefined;
  /** Removes a key that was made for this lease. */
  remove(): Promise<void>;
}

const nothingToRemove = () => Promise.resolve();

/**
 * The key of the command line. A command that logs in has one in any case if the labels take one: that of its identity, or a new
 * one that lasts as long as the lease.
 * @returns `undefined` to send none
 * @throws CliError the key cannot be read or made
 */
export async function findLeaseKey(client: NodepoolClient, options: AcquireOptions): Promise<LeaseKey | undefined> {
  const { labels, sshKeyFile, login } = options;
  if (sshKeyFile !== undefined) return ownKey(await readKey(sshKeyFile));
  if (!login || !(await takeKeys(client, labels))) return undefined;
  if (login.identity === undefined) return createKey();
  const publicKey = await readKey(`${login.identity}.pub`).catch(() => undefined);
  return publicKey === undefined ? undefined : ownKey(publicKey);
}

const ownKey = (publicKey: string): LeaseKey => ({ publicKey, identity: undefined, remove: nothingToRemove });

async function takeKeys(client: NodepoolClient, labels: readonly string[]): Promise<boolean> {
  const known = await client.labels();
  return labels.every((label) => known.some((each) => each.label === label && each.takesSshKey));
}

async function readKey(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new CliError(`Cannot read the public key: ${describeError(error)}`, { cause: error });
  }
}

async function createKey(): Promise<LeaseKey> {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-key-'));
  const remove = () => rm(directory, { recursive: true, force: true });
  const identity = join(directory, 'id_ed25519');
  try {
    await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'nodepool', '-f', identity]);
    return { publicKey: await readKey(`${identity}.pub`), identity, remove };
  } catch (error) {
    await remove();
    throw new CliError(`Cannot make a key with ssh-keygen: ${describeError(error)}; name one with --ssh-key FILE`, {
      cause: error,
    });
  }
}
