import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureSecretFile, type SecretFile } from './secret-file.js';

const USER = 'nodepool';
const SECRET_BYTES = 24;

const loginFile = (stateDir: string): SecretFile => ({
  path: join(stateDir, 'embedded-zookeeper.login'),
  what: 'the login of the embedded ZooKeeper server',
  pattern: /^[^:\s]+:\S+$/,
  holds: '"user:password"',
});

/** Removes the login of this state directory, if any. */
export async function removeEmbeddedLogin(stateDir: string): Promise<void> {
  await rm(loginFile(stateDir).path, { force: true });
}

/**
 * Login that the embedded server of this state directory requires on TCP. Created by the first call and then kept.
 * Each call sets the file permissions according to `access`.
 * @returns `user:password`
 * @throws NODEPOOL_STATE_DIR if the file cannot be written or has other content
 */
export function ensureEmbeddedLogin(stateDir: string, access: 'owner' | 'group'): Promise<string> {
  const make = () => `${USER}:${randomBytes(SECRET_BYTES).toString('hex')}`;
  return ensureSecretFile(loginFile(stateDir), make, access === 'group' ? 0o640 : 0o600);
}
