import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ensureSecretFile, readSecretFile, type SecretFile } from './secret-file.js';

const KEY_BYTES = 32;

/** One command that adds a key to the secure file. */
export const MAKE_TOKEN_KEY = `printf 'token-keys: ["%s"]\\n' "$(openssl rand -hex 32)" >> SECURE_FILE`;

/** Where the key for tokens is, if the launcher made it itself. */
export function tokenKeyFile(stateDir: string): string {
  return join(stateDir, 'lease-token.key');
}

const secretFile = (stateDir: string): SecretFile => ({
  path: tokenKeyFile(stateDir),
  what: 'the key that signs tokens',
  pattern: /^\S{32,}$/,
  holds: 'a word of 32 or more characters',
});

/**
 * The key that signs tokens for leases in the embedded database of this state directory. Created by the first call and then kept;
 * only its owner may read it, also if others may use the database.
 * @throws NODEPOOL_STATE_DIR if the file cannot be written or has other content
 */
export function ensureTokenKey(stateDir: string): Promise<string> {
  return ensureSecretFile(secretFile(stateDir), () => randomBytes(KEY_BYTES).toString('hex'));
}

/** The key that the launcher of this state directory has made. @throws NODEPOOL_STATE_DIR it cannot be read */
export function readTokenKey(stateDir: string): Promise<string> {
  return readSecretFile(secretFile(stateDir));
}
