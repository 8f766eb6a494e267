import { rmSync } from 'node:fs';
import { access, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LeasedNode, NodepoolClient } from '@nodepool/client';
import { orAbort } from '@nodepool/zk-protocol';
import { inform } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { sshKeygen } from '../command/ssh-keygen.js';
import { temporaryDirectory } from '../command/temporary-directory.js';
import type { AcquireOptions } from './acquire-options.js';
import type { NodeLogin } from './node-login.js';

/** A node as far as its certificate is concerned. */
export type CertifiedNode = Pick<LeasedNode, 'id' | 'certificate'>;

/** A key for the nodes of a lease, and its certificates, in a directory for this user alone. */
export class LeaseKey {
  /** One line, as in a `.pub` file. */
  readonly publicKey: string;
  readonly #identity: string;
  readonly #directory: string;
  readonly #removeAtExit: () => void;
  /** Files of certificates by node. */
  readonly #files = new Map<string, string>();
  #storing: Promise<void> = Promise.resolve();
  #isRemoved = false;

  /** @param directory - holds only what belongs to this key; removed when this process exits */
  constructor(publicKey: string, identity: string, directory: string) {
    this.publicKey = publicKey;
    this.#identity = identity;
    this.#directory = directory;
    // a second signal ends this process at once
    this.#removeAtExit = () => rmSync(directory, { recursive: true, force: true });
    process.once('exit', this.#removeAtExit);
  }

  /** Stores the certificates of nodes in place of older ones. Each may be in use. @throws CliError */
  store(nodes: readonly CertifiedNode[]): Promise<void> {
    const stored = this.#storing.then(() => this.#store(nodes));
    this.#storing = stored.catch(() => undefined);
    return stored;
  }

  async #store(nodes: readonly CertifiedNode[]): Promise<void> {
    for (const { id, certificate } of nodes) {
      if (this.#isRemoved || certificate === null || !/^\S+ \S+$/.test(certificate)) continue;
      const file = this.#files.get(id) ?? join(this.#directory, `node-${this.#files.size}-cert.pub`);
      try {
        await writeFile(`${file}.new`, `${certificate}\n`, { mode: 0o600 });
        await rename(`${file}.new`, file);
      } catch (error) {
        throw new CliError(`Cannot store the certificate of a node: ${describeError(error)}`, { cause: error });
      }
      this.#files.set(id, file);
    }
  }

  /** How to log in to a node, with its certificate if there is one. */
  loginTo(node: string): NodeLogin {
    return { identity: this.#identity, certificate: this.#files.get(node) };
  }

  /** Removes it. Happens in any case when this process exits. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    await this.#storing;
    await rm(this.#directory, { recursive: true, force: true });
    process.off('exit', this.#removeAtExit);
  }

  /** Leaves it to a person who has the nodes. */
  async keep(): Promise<void> {
    process.off('exit', this.#removeAtExit);
    await this.#storing;
  }
}

/**
 * The key of the command line; else, if the labels take one, that of the identity, or a new one that lasts as long as the lease.
 * @returns `undefined` to send none
 * @throws CliError the key cannot be read or made; the signal's reason, and no key is left
 */
export async function findLeaseKey(
  client: NodepoolClient,
  options: AcquireOptions,
  signal: AbortSignal,
): Promise<LeaseKey | undefined> {
  const { labels, sshKeyFile, login } = options;
  if (sshKeyFile !== undefined) return ownKey(checkPublic(await readKey(sshKeyFile), sshKeyFile), sshKeyFile);
  if (!(await orAbort(takeKeys(client, labels), signal))) return undefined;
  const { identity } = login ?? {};
  if (identity === undefined) return createKey(signal, login !== undefined);
  const publicKey = await readKey(`${identity}.pub`).catch(() => undefined);
  return publicKey === undefined ? undefined : ownKey(publicKey, identity);
}

/** So that a private key, whose name differs by four letters, is never sent to the server. @throws CliError */
function checkPublic(text: string, file: string): string {
  if (/^[a-z][\w.@-]* [\w+/=]+( [^\n]*)?$/i.test(text)) return text;
  const fix = /PRIVATE KEY/.test(text)
    ? `name ${file}.pub, or make it with ssh-keygen -y`
    : 'name a .pub file of one line';
  throw new CliError(`Cannot use --ssh-key ${file}: it is no public key; ${fix}`);
}

const newDirectory = () => mkdtemp(join(temporaryDirectory(), 'nodepool-key-')); // mode 700

/** @param file - with the private key, or with the public key of one that is beside it, or that an agent has */
async function ownKey(publicKey: string, file: string): Promise<LeaseKey> {
  const beside = file.replace(/\.pub$/, '');
  const identity = await access(beside).then(
    () => beside,
    () => file,
  );
  return new LeaseKey(publicKey, identity, await newDirectory());
}

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

/** @param isNeeded - whether this process logs in itself */
async function createKey(signal: AbortSignal, isNeeded: boolean): Promise<LeaseKey | undefined> {
  const directory = await newDirectory();
  const identity = join(directory, 'id_ed25519');
  const removeAtExit = () => rmSync(directory, { recursive: true, force: true });
  process.once('exit', removeAtExit);
  try {
    const words = ['-q', '-t', 'ed25519', '-N', '', '-C', 'nodepool', '-f', identity];
    await sshKeygen('Cannot make a key with ssh-keygen', words, signal);
    return new LeaseKey(await readKey(`${identity}.pub`), identity, directory);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    signal.throwIfAborted();
    const { message, cause } = error as CliError;
    if (!isNeeded && (cause as NodeJS.ErrnoException).code === 'ENOENT') {
      inform('nodepool: there is no ssh-keygen on this computer, so the nodes get no key to log in with');
      return undefined;
    }
    throw new CliError(`${message}; name one with --ssh-key FILE`, { cause });
  } finally {
    process.off('exit', removeAtExit);
  }
}
