import { readFile, writeFile } from 'node:fs/promises';
import ssh2 from 'ssh2';

type KeyType = 'ed25519' | 'ecdsa';
type KeyPair = ReturnType<typeof ssh2.utils.generateKeyPairSync>;

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function generate(type: KeyType): KeyPair {
  const comment = 'quickstart';
  if (type === 'ecdsa') return ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256, comment });
  return ssh2.utils.generateKeyPairSync('ed25519', { comment });
}

/** A key that works: sometimes ssh2 makes a key that it cannot read back. */
function generateUsable(type: KeyType): KeyPair {
  for (;;) {
    const pair = generate(type);
    const key = ssh2.utils.parseKey(pair.private);
    if (key instanceof Error) continue;
    if (key.verify(PROBE, key.sign(PROBE)) === true) return pair;
  }
}

const PROBE = 'quickstart';

/**
 * The private key in `file`, made when it is not there yet. Only this user can read it. The public key lies beside it
 * as `<file>.pub`.
 */
export async function ensureKey(file: string, type: KeyType): Promise<void> {
  if ((await readIfThere(`${file}.pub`)) !== undefined) return;
  const pair = generateUsable(type);
  await writeFile(file, pair.private, { mode: 0o600 });
  await writeFile(`${file}.pub`, `${pair.public}\n`);
}
