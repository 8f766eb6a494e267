import { readFile, writeFile } from 'node:fs/promises';
import ssh2 from 'ssh2';

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The private key in `file`, made when it is not there yet. Only this user can read it. The public key lies beside it
 * as `<file>.pub`.
 */
export async function ensureKey(file: string, type: 'ed25519' | 'ecdsa'): Promise<void> {
  if ((await readIfThere(`${file}.pub`)) !== undefined) return;
  const pair =
    type === 'ecdsa'
      ? ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256, comment: 'quickstart' })
      : ssh2.utils.generateKeyPairSync('ed25519', { comment: 'quickstart' });
  await writeFile(file, pair.private, { mode: 0o600 });
  await writeFile(`${file}.pub`, `${pair.public}\n`);
}
