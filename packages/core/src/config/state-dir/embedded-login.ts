import { randomBytes } from 'node:crypto';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NodepoolError } from '@nodepool/zk-protocol';

const USER = 'nodepool';
const SECRET_BYTES = 24;
const LOGIN = /^[^:\s]+:\S+$/;

function loginFile(stateDir: string): string {
  return join(stateDir, 'embedded-zookeeper.login');
}

/** Removes the login of this state directory, if any. */
export async function removeEmbeddedLogin(stateDir: string): Promise<void> {
  await rm(loginFile(stateDir), { force: true });
}

/**
 * Login that the embedded server of this state directory requires on TCP. Created by the first call and then kept.
 * Each call sets the file permissions according to `access`.
 * @returns `user:password`
 * @throws NODEPOOL_STATE_DIR if the file cannot be written or has other content
 */
export async function ensureEmbeddedLogin(stateDir: string, access: 'owner' | 'group'): Promise<string> {
  const file = loginFile(stateDir);
  try {
    await createLogin(file);
    await chmod(file, access === 'group' ? 0o640 : 0o600);
    return checked(file, await readFile(file, 'utf8'));
  } catch (error) {
    if (error instanceof NodepoolError) throw error;
    throw unusable(
      file,
      (error as Error).message,
      `make ${stateDir} writable for this user, and see that its disk is not full`,
      error,
    );
  }
}

async function createLogin(file: string): Promise<void> {
  try {
    await writeFile(file, `${USER}:${randomBytes(SECRET_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    // Remove a partially written file, which would be read as the login.
    await rm(file, { force: true });
    throw error;
  }
}

function checked(file: string, content: string): string {
  const login = content.trim();
  if (LOGIN.test(login)) return login;
  throw unusable(file, 'it does not hold "user:password"', 'remove it and restart the launcher, which makes another');
}

function unusable(file: string, problem: string, remedy: string, cause?: unknown): NodepoolError {
  const message = `cannot use ${file}, the login of the embedded ZooKeeper server: ${problem}; ${remedy}`;
  return new NodepoolError('NODEPOOL_STATE_DIR', message, { cause });
}
