import { open } from 'node:fs/promises';
import { SshLoginError } from './errors.js';

/** Permission bits of others than the owner. */
const OF_OTHERS = 0o077;
const MAX_BYTES = 65_536;

/**
 * Reads the private key with which the launcher logs in. Read for each login, so that a replaced file counts at once.
 * @throws {SshLoginError} the message names the file and the fix, never its content
 */
export async function readPrivateKey(file: string): Promise<Buffer> {
  const content = await readOwn(file);
  const { default: ssh2 } = await import('ssh2');
  const parsed: unknown = ssh2.utils.parseKey(content);
  const key: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (key instanceof Error) {
    const fix = /passphrase|encrypted/i.test(key.message)
      ? 'it has a passphrase, which is not supported: remove it with ssh-keygen -p, or make a key for the launcher alone'
      : 'it is no private key in the format of OpenSSH or PEM: make one with ssh-keygen -t ed25519';
    throw refused(file, fix);
  }
  if (!isPrivate(key)) throw refused(file, 'it is a public key: name the file without .pub');
  return content;
}

function isPrivate(key: unknown): boolean {
  const candidate = key as { isPrivateKey?: () => boolean };
  return candidate.isPrivateKey?.() === true;
}

async function readOwn(file: string): Promise<Buffer> {
  try {
    const handle = await open(file, 'r');
    try {
      const { mode, size } = await handle.stat();
      if ((mode & OF_OTHERS) !== 0) {
        const octal = (mode & 0o777).toString(8);
        throw refused(file, `other users may read or change it (mode ${octal}): run chmod 600 on it`);
      }
      if (size > MAX_BYTES) throw refused(file, `it has ${size} bytes, so it is no private key`);
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof SshLoginError) throw error;
    const text = error instanceof Error ? error.message : String(error);
    throw refused(file, `it cannot be read (${text}): correct "lease-ssh-key", or let the launcher's user read it`);
  }
}

function refused(file: string, why: string): SshLoginError {
  return new SshLoginError('key-file', `cannot log in with the key in ${file}: ${why}`);
}
