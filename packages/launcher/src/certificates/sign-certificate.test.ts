import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CertificateError, signCertificate, type CertificateWish } from './sign-certificate.js';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHgB2vVYcEHh2rAsxVBbX4gAIuU5j1dYGY4mrlzVvaxo';
const run = promisify(execFile);
const context = { path: process.env['PATH'], signal: new AbortController().signal };
let directory: string;
let ca: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-signing-'));
  ca = join(directory, 'ca');
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', ca]);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const wish = (changes: Partial<CertificateWish> = {}): CertificateWish => ({
  ...{ caKeyFile: ca, publicKey: KEY, principal: 'zuul', keyId: 'lease=a owner=b label=c' },
  ...{ fromMs: Date.UTC(2030, 0, 2, 3, 4, 5), untilMs: Date.UTC(2030, 0, 2, 3, 19, 5, 900), ...changes },
});

async function failure(changes: Partial<CertificateWish>, path = context.path): Promise<CertificateError> {
  const error: unknown = await signCertificate(wish(changes), { ...context, path }).catch((e: unknown) => e);
  if (!(error instanceof CertificateError)) throw new Error('it was signed');
  return error;
}

it('signs for one name and a time in UTC, and leaves nothing behind', async () => {
  const before = (await readdir(tmpdir())).filter((name) => name.startsWith('nodepool-certificate-'));
  const line = await signCertificate(wish(), context);
  expect((await readdir(tmpdir())).filter((name) => name.startsWith('nodepool-certificate-'))).toEqual(before);

  expect(line).toMatch(/^ssh-ed25519-cert-v01@openssh\.com \S+$/);
  const file = join(directory, 'x-cert.pub');
  await writeFile(file, line);
  const { stdout } = await run('ssh-keygen', ['-L', '-f', file], { env: { ...process.env, TZ: 'UTC' } });
  expect(stdout).toContain('Valid: from 2030-01-02T03:04:05 to 2030-01-02T03:19:05');
  expect(stdout).toContain('Key ID: "lease=a owner=b label=c"');
  expect(stdout).toMatch(/Principals: \n\s+zuul\n\s+Critical/);
});

describe('says what to do', () => {
  it('about a key that is not there, or that others may read', async () => {
    const missing = await failure({ caKeyFile: join(directory, 'none') });
    expect(missing.message).toMatch(/Cannot read "lease-ca-key" \(ENOENT.*nodepool ca create/);
    const open = join(directory, 'open');
    await writeFile(open, 'x', { mode: 0o600 });
    await chmod(open, 0o640);
    expect((await failure({ caKeyFile: open })).message).toMatch(/Other users may read.*mode 640.*chmod 600/);
  });

  it('about a key that cannot sign, without asking on the terminal', async () => {
    const locked = join(directory, 'locked');
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'secret', '-f', locked]);
    for (const caKeyFile of [locked, `${ca}.pub`]) {
      await chmod(caKeyFile, 0o600);
      const error = await failure({ caKeyFile });
      expect(error).toMatchObject({ isOfCa: true, code: 'NODEPOOL_LEASE_CA' });
      expect(error.message).toMatch(/cannot sign with "lease-ca-key".*without a passphrase; it said: \S/);
    }
  });

  it('about the key of a lessee, which is no fault of the launcher', async () => {
    const error = await failure({ publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAAXg=' });
    expect(error).toMatchObject({ isOfCa: false });
    expect(error.message).toContain('cannot use the public key');
  });

  it('about a missing ssh-keygen', async () => {
    expect((await failure({}, '/nonexistent')).message).toMatch(/no ssh-keygen.*openssh-client/);
  });
});
