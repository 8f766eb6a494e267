import { execFile, type ExecFileException } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodepoolError } from '@nodepool/zk-protocol';

/** Permission bits of others than the owner. */
const OF_OTHERS = 0o077;
/** A signature takes milliseconds, unless the machine is out of something. */
const TIMEOUT_MS = 10_000;

/** A certificate could not be signed. */
export class CertificateError extends NodepoolError {
  /** @param isOfCa - whether the CA key or `ssh-keygen` cannot be used, so that no certificate can be signed */
  constructor(
    message: string,
    readonly isOfCa: boolean,
    options?: ErrorOptions,
  ) {
    super('NODEPOOL_LEASE_CA', message, options);
  }
}

/** An SSH certificate to sign. */
export interface CertificateWish {
  /** File with the private key of the CA. */
  readonly caKeyFile: string;
  /** Key of the lessee, `<type> <base64>`. */
  readonly publicKey: string;
  /** The only name that it is for. */
  readonly principal: string;
  /** What the log of a host shows; printable ASCII. */
  readonly keyId: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Where programs are found, and what ends them. */
export interface SigningContext {
  /** `PATH`. */
  readonly path: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Signs an SSH certificate with the system's `ssh-keygen`, so that this process never reads the key of the CA.
 * @returns one line
 * @throws {CertificateError} the message names the fix, and no content of a file
 */
export async function signCertificate(wish: CertificateWish, context: SigningContext): Promise<string> {
  const { caKeyFile, publicKey, principal, keyId, fromMs, untilMs } = wish;
  await checkCaKey(caKeyFile);
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-certificate-')); // mode 700
  try {
    const file = join(directory, 'key.pub');
    await writeFile(file, `${publicKey}\n`, { mode: 0o600 });
    const validity = `${utc(fromMs)}:${utc(untilMs)}`;
    const words = ['-q', '-s', caKeyFile, '-I', keyId, '-n', principal, '-V', validity, file];
    const said = await keygen(words, context);
    if (said === undefined) return withoutComment(await readFile(join(directory, 'key-cert.pub'), 'utf8'));
    if ((await keygen(['-l', '-f', file], context)) !== undefined) {
      throw new CertificateError(
        'ssh-keygen cannot use the public key of the lease: request one with another key',
        false,
      );
    }
    const fix = 'name the private key that "nodepool ca create" has made, without a passphrase';
    throw new CertificateError(
      `ssh-keygen cannot sign with "lease-ca-key" ${caKeyFile}: ${fix}; it said: ${said}`,
      true,
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The comment would be the path of the file. */
const withoutComment = (line: string) => line.split(' ').slice(0, 2).join(' ');

/** To the second, as `-V` reads it where the time zone is UTC. */
const utc = (ms: number) => new Date(ms).toISOString().replace(/[-:T]|\..*/g, '');

/** @throws {CertificateError} */
async function checkCaKey(file: string): Promise<void> {
  const { mode } = await stat(file).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    const fix = 'make the key with "nodepool ca create", or correct the path';
    throw new CertificateError(`Cannot read "lease-ca-key" (${why}): ${fix}`, true, { cause: error });
  });
  if ((mode & OF_OTHERS) === 0) return;
  const octal = (mode & 0o777).toString(8);
  const fix = 'run chmod 600 on it, and make another key if another user may have read it';
  throw new CertificateError(`Other users may read or change "lease-ca-key" ${file} (mode ${octal}): ${fix}`, true);
}

/** Runs `ssh-keygen` without a terminal, on which it would ask. @returns `undefined`, or the last line of why it failed */
function keygen(args: readonly string[], { path, signal }: SigningContext): Promise<string | undefined> {
  const env = { PATH: path, TZ: 'UTC', LC_ALL: 'C', SSH_ASKPASS_REQUIRE: 'never' };
  return new Promise((resolve, reject) => {
    const ended = (error: ExecFileException | null, _output: string, errors: string) => {
      if (error === null) return resolve(undefined);
      if (signal.aborted) return reject(new Error('the launcher stops'));
      if (error.code !== 'ENOENT') return resolve(lastLine(errors) || 'nothing');
      const fix = 'install the SSH client of the system (openssh-client)';
      reject(new CertificateError(`This launcher finds no ssh-keygen to sign certificates with: ${fix}`, true));
    };
    const options = { env, signal, timeout: TIMEOUT_MS, killSignal: 'SIGKILL', detached: true } as const;
    execFile('ssh-keygen', args, options, ended).stdin?.end();
  });
}

function lastLine(text: string): string {
  const line =
    text
      .trimEnd()
      .split(/[\r\n]+/)
      .at(-1) ?? '';
  return line.replace(/[^\x20-\x7e]/g, '?').slice(0, 300);
}
