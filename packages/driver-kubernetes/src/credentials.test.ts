import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogFields } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { createCredentials } from './credentials.js';

let folder = '';
const clock = new VirtualClock();
const warnings: LogFields[] = [];

beforeEach(async () => {
  warnings.length = 0;
  folder = await mkdtemp(join(tmpdir(), 'credentials-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function credentialsOf(user: object) {
  const file = join(folder, 'config');
  const content = {
    'current-context': 'x',
    clusters: [{ name: 'c', cluster: { server: 'https://c' } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  };
  await writeFile(file, JSON.stringify(content));
  const env = { PATH: process.env['PATH'], MARK: 'set' };
  const warn = (message: string, fields: LogFields = {}) => void warnings.push({ message, ...fields });
  return createCredentials({ file, context: undefined, env }, clock, { warn });
}

async function program(text: string): Promise<string> {
  const file = join(folder, 'login');
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
  return file;
}

describe('credentials', () => {
  it('are a token, or a user with a password', async () => {
    const token = await credentialsOf({ token: 'abc' });
    expect((await token.get()).headers).toEqual({ authorization: 'Bearer abc' });

    const basic = await credentialsOf({ username: 'u', password: 'p' });
    expect((await basic.get()).headers).toEqual({ authorization: `Basic ${Buffer.from('u:p').toString('base64')}` });
  });

  it.each([0, -3_600_000, 3_600_000])('are read again from a token file, the clock is set by %i ms', async (byMs) => {
    await writeFile(join(folder, 'token'), 'first\n');
    const credentials = await credentialsOf({ tokenFile: 'token' });
    expect((await credentials.get()).token).toBe('first');
    await writeFile(join(folder, 'token'), 'second\n');
    clock.set(clock.now() + byMs);
    expect((await credentials.get()).token).toBe('first');

    await clock.advance(60_000);

    expect((await credentials.get()).token).toBe('second');
  });

  it('are asked of a program once in five seconds, also if they are refused, end soon, or it fails', async () => {
    const runs = join(folder, 'runs');
    const status = { token: 'short', expirationTimestamp: new Date(clock.now() + 1_000).toISOString() };
    const text = `echo run >> ${runs}\n[ -e ${folder}/broken ] && exit 3\necho '${JSON.stringify({ status })}'`;
    const credentials = await credentialsOf({ exec: { command: await program(text) } });
    const count = async () => (await readFile(runs, 'utf8')).split('\n').length - 1;

    for (let i = 0; i < 3; i++) {
      expect((await credentials.get()).token).toBe('short');
      credentials.forget();
    }
    expect(await count()).toBe(1);

    await writeFile(join(folder, 'broken'), '');
    await clock.advance(5_000);
    for (let i = 0; i < 3; i++) await expect(credentials.get()).rejects.toThrow('exit status 3');
    expect(await count()).toBe(2);

    await rm(join(folder, 'broken'));
    await clock.advance(5_000);
    expect((await credentials.get()).token).toBe('short');
  });

  // Ends: LoginEnds Expired, LoginEnds Short
  it.each([
    ['have ended', -30_000, 'Expired', 'ended 30 s ago', 'clear its cache'],
    ['end within a minute', 30_000, 'Short', 'end in 30 s', 'valid for several minutes'],
  ])('that a program prints and that %s are warned of once, and shown while it lasts', async (...row) => {
    const [, lifeMs, reason, when, step] = row;
    const life = join(folder, 'life');
    const command = await program(`cat ${life}`);
    const credentials = await credentialsOf({ exec: { command } });
    const print = async (ms: number) => {
      const expirationTimestamp = new Date(clock.now() + ms).toISOString();
      await writeFile(life, JSON.stringify({ status: { token: 't', expirationTimestamp } }));
      expect((await credentials.get()).token).toBe('t');
      await clock.advance(40_000);
    };
    const shown = { reason, message: expect.stringContaining(when) as string };

    await print(lifeMs);
    await print(lifeMs);
    expect(credentials.ending).toBeUndefined();
    await print(lifeMs);

    expect(credentials.ending).toMatchObject({ ...shown, sinceMs: clock.now() - 120_000 });
    expect(warnings).toMatchObject([{ ...shown, nextStep: expect.stringContaining(step) as string }]);
    expect(credentials.ending?.message).toContain(`program "${command}"`);

    await print(600_000);
    expect(credentials.ending).toBeUndefined();
  });

  it('are those that a program prints, until they expire', async () => {
    const expires = new Date(clock.now() + 600_000).toISOString();
    const command = await program(
      `echo x >> "$(dirname "$0")/runs"; test "$MARK" = set || exit 3; test "$OWN" = yes || exit 4\n` +
        `case $KUBERNETES_EXEC_INFO in *ExecCredential*) ;; *) exit 5;; esac\n` +
        `echo '{"status": {"token": "printed", "expirationTimestamp": "${expires}"}}'`,
    );
    const credentials = await credentialsOf({ exec: { command, env: [{ name: 'OWN', value: 'yes' }] } });
    const runs = async () => (await readFile(join(folder, 'runs'), 'utf8')).length / 2;

    expect((await Promise.all([credentials.get(), credentials.get()])).map(({ token }) => token)).toEqual([
      'printed',
      'printed',
    ]);
    expect(await runs()).toBe(1);
    await clock.advance(539_000);
    await credentials.get();
    expect(await runs()).toBe(1);
    await clock.advance(1_000);
    await credentials.get();
    expect(await runs()).toBe(2);
  });

  it('may be a client certificate that a program prints', async () => {
    const command = await program(`echo '{"status": {"clientCertificateData": "CERT", "clientKeyData": "KEY"}}'`);

    expect(await (await credentialsOf({ exec: { command } })).get()).toMatchObject({ certificate: 'CERT', key: 'KEY' });
  });

  it.each([
    ['exit 7', 'exit status 7: '],
    ['echo no >&2; exit 1', 'exit status 1: no'],
    ['echo hello', 'printed no JSON'],
    ['echo "{}"', 'printed neither a token nor a client certificate'],
  ])('are refused when the program does `%s`', async (text, message) => {
    const credentials = await credentialsOf({ exec: { command: await program(text) } });

    await expect(credentials.get()).rejects.toThrow(message);
  });

  it('say how to install a program that is missing', async () => {
    const exec = { command: 'no-such-login', installHint: 'apt install it' };

    await expect((await credentialsOf({ exec })).get()).rejects.toThrow('it is not installed. apt install it');
  });

  it('are read again after a refusal', async () => {
    const credentials = await credentialsOf({ token: 'old' });
    await credentials.get();
    await credentialsOf({ token: 'new' });
    expect((await credentials.get()).token).toBe('old');

    credentials.forget();

    expect((await credentials.get()).token).toBe('new');
  });
});
