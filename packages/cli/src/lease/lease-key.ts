import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { NodepoolClient } from '@nodepool/client';
import { orAbort } from '@nodepool/zk-protocol';
import { CliError, describeError } from '../command/errors.js';
import type { AcquireOptions } from './acquire-options.js';

/** A key that a server installs on the nodes of a lease. */
export interface LeaseKey {
  /** One line, as in a `.pub` file. */
  readonly publicKey: string;
  /** File with the private key, if it was made for this lease. */
  readonly identity: string | undefined;
  /** Removes a key that was made for this lease. Happens in any case when this process exits. */
  remove(): Promise<void>;
  /** Leaves it to a person who has the nodes. */
  keep(): void;
}

/**
 * The key of the command line. A command that logs in has one in any case if the labels take one: that of its identity, or a new
 * one that lasts as long as the lease.
 * @returns `undefined` to send none
 * @throws CliError the key cannot be read or made; the signal's reason, and no key is left
 */
export async function findLeaseKey(
  client: NodepoolClient,
  options: AcquireOptions,
  signal: AbortSignal,
): Promise<LeaseKey | undefined> {
  const { labels, sshKeyFile, login } = options;
  if (sshKeyFile !== undefined) return ownKey(checkPublic(await readKey(sshKeyFile), sshKeyFile));
  if (!login || !(await orAbort(takeKeys(client, labels), signal))) return undefined;
  if (login.identity === undefined) return createKey(signal);
  const publicKey = await readKey(`${login.identity}.pub`).catch(() => undefined);
  return publicKey === undefined ? undefined : ownKey(publicKey);
}

/** So that a private key, whose name differs by four letters, is never sent to the server. @throws CliError */
function checkPublic(text: string, file: string): string {
  if (/^[a-z][\w.@-]* [\w+/=]+( [^\n]*)?$/i.test(text)) return text;
  const fix = /PRIVATE KEY/.test(text)
    ? `name ${file}.pub, or make it with ssh-keygen -y`
    : 'name a .pub file of one line';
  throw new CliError(`Cannot use --ssh-key ${file}: it is no public key; ${fix}`);
}

const ownKey = (publicKey: string): LeaseKey => ({
  ...{ publicKey, identity: undefined, remove: () => Promise.resolve(), keep: () => {} },
});

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

async function createKey(signal: AbortSignal): Promise<LeaseKey> {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-key-'));
  const removeAtExit = () => rmSync(directory, { recursive: true, force: true }); // a second signal ends this process at once
  process.once('exit', removeAtExit);
  const keep = () => void process.off('exit', removeAtExit);
  const remove = async () => {
    await rm(directory, { recursive: true, force: true });
    keep();
  };
  const identity = join(directory, 'id_ed25519');
  try {
    const words = ['-q', '-t', 'ed25519', '-N', '', '-C', 'nodepool', '-f', identity];
    await promisify(execFile)('ssh-keygen', words, { signal });
    return { publicKey: await readKey(`${identity}.pub`), identity, remove, keep };
  } catch (error) {
    await remove();
    signal.throwIfAborted();
    throw new CliError(`Cannot make a key with ssh-keygen: ${describeError(error)}; name one with --ssh-key FILE`, {
      cause: error,
    });
  }
}
