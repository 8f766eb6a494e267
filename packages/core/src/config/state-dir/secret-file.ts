import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { NodepoolError } from '@nodepool/zk-protocol';

/** A secret that a service makes for itself in its state directory. */
export interface SecretFile {
  readonly path: string;
  /** What it is, in an error. */
  readonly what: string;
  readonly pattern: RegExp;
  /** What it holds, in an error. */
  readonly holds: string;
}

/**
 * The secret of a file. Created by the first call and then kept. Each call sets the permissions of the file.
 * @param make - a new secret
 * @throws NODEPOOL_STATE_DIR if the file cannot be written or has other content
 */
export async function ensureSecretFile(file: SecretFile, make: () => string, mode = 0o600): Promise<string> {
  const { path } = file;
  try {
    await create(path, make());
    await chmod(path, mode);
  } catch (error) {
    const remedy = 'make its directory writable for this user, and see that its disk is not full';
    throw unusable(file, (error as Error).message, remedy, error);
  }
  return readSecretFile(file);
}

const AS_LAUNCHER = "run this as the launcher's user";

/** The secret of a file. @throws NODEPOOL_STATE_DIR it cannot be read, or has other content */
export async function readSecretFile(file: SecretFile): Promise<string> {
  const content = await readFile(file.path, 'utf8').catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ENOENT';
    throw unusable(file, message, isMissing ? 'the launcher makes it at its start' : AS_LAUNCHER, error);
  });
  const secret = content.trim();
  if (file.pattern.test(secret)) return secret;
  throw unusable(file, `it does not hold ${file.holds}`, 'remove it and restart the launcher, which makes another');
}

async function create(path: string, secret: string): Promise<void> {
  try {
    await writeFile(path, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    // Remove a partially written file, which would be read as the secret.
    await rm(path, { force: true });
    throw error;
  }
}

function unusable({ path, what }: SecretFile, problem: string, remedy: string, cause?: unknown): NodepoolError {
  const message = `cannot use ${path}, ${what}: ${problem}; ${remedy}`;
  return new NodepoolError('NODEPOOL_STATE_DIR', message, { cause });
}
