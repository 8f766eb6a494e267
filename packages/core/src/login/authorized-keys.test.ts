import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SshHost } from '../../test/support/ssh-host.js';
import { changeAuthorizedKeys, type KeyOrder } from './authorized-keys.js';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHgB2vVYcEHh2rAsxVBbX4gAIuU5j1dYGY4mrlzVvaxo';
const MARK = 'nodepool-lease-l1';
const LINE = `${KEY} ${MARK}`;
/** Odd, and no newline at the end. */
const FOREIGN = Buffer.from(
  "# a comment \\n with $HOME `id` 'quotes'\r\n\n-n\n\t(\nssh-rsa AAAA b\xff\xfe\n" + `${LINE}-other\n!\n= x`,
  'latin1',
);

let host: SshHost;
let home: string;
const file = () => join(home, '.ssh', 'authorized_keys');

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'nodepool-keys-'));
  host = await SshHost.start(home);
});

afterEach(async () => {
  await host.stop();
  await rm(home, { recursive: true, force: true });
});

async function change(order: KeyOrder['order'], more: Partial<KeyOrder> = {}): Promise<void> {
  const { signal } = new AbortController();
  const login = { ...host.login, clock: systemClock, timeoutMs: 60_000, signal };
  await changeAuthorizedKeys(login, { order, key: KEY, mark: MARK, ...more });
}

async function have(content: Buffer | string, mode = 0o640): Promise<void> {
  await mkdir(join(home, '.ssh'), { mode: 0o700 });
  await writeFile(file(), content);
  await chmod(file(), mode);
}

describe('the keys that may log in', () => {
  it('have one more after it was added, also twice, and are byte for byte as before after it was removed', async () => {
    await have(FOREIGN);

    await change('add');
    await change('add');
    expect(await readFile(file())).toEqual(Buffer.concat([Buffer.from(`${LINE}\n`), FOREIGN]));
    expect((await stat(file())).mode & 0o777).toBe(0o640);

    await change('remove');
    await change('remove');
    expect(await readFile(file())).toEqual(FOREIGN);
    expect((await stat(file())).mode & 0o777).toBe(0o640);
    expect(await readdir(join(home, '.ssh'))).toEqual(['authorized_keys']);
  });

  it('are made where there are none, for their owner alone', async () => {
    await change('add');

    expect(await readFile(file(), 'utf8')).toBe(`${LINE}\n`);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect((await stat(join(home, '.ssh'))).mode & 0o777).toBe(0o700);
  });

  it('need no file to remove one', async () => {
    await change('remove');
    expect(await readdir(home)).toEqual([]);
  });

  it('lose a last line without a newline', async () => {
    await have(`a\n${LINE}`);
    await change('remove');
    expect(await readFile(file(), 'utf8')).toBe('a\n');
  });

  it('are changed twice at the same time without losing one', async () => {
    await have(FOREIGN);
    const marks = Array.from({ length: 2 }, (_, i) => `nodepool-lease-${i}`);
    await Promise.all(marks.map((mark) => change('add', { mark })));
    const lines = (await readFile(file(), 'latin1')).split('\n');
    for (const mark of marks) expect(lines).toContain(`${KEY} ${mark}`);

    await Promise.all(marks.map((mark) => change('remove', { mark })));
    expect(await readFile(file())).toEqual(FOREIGN);
  });

  it('stay as they are when the file is not one of lines, is a link, or the change is not needed any more', async () => {
    await have('a\0b\n');
    await expect(change('add')).rejects.toMatchObject({ failure: 'not-done', mayTakeEffect: false });
    expect(await readFile(file(), 'latin1')).toBe('a\0b\n');

    const refusal = new Error('not wanted any more');
    await expect(change('add', { beforeSend: () => Promise.reject(refusal) })).rejects.toBe(refusal);

    await rm(file());
    await symlink('/dev/null', file());
    await expect(change('add')).rejects.toThrow(/authorized_keys is a symbolic link/);
    expect(await readdir(join(home, '.ssh'))).toEqual(['authorized_keys']);
  });

  it('are changed although a process died with the lock', async () => {
    await have('');
    await symlink('1000000000.1', join(home, '.ssh', '.nodepool-lock'));
    await change('add');
    expect(await readFile(file(), 'utf8')).toBe(`${LINE}\n`);
  });

  it.each([['a\nb'], ['\u0000'], ['é']])('take no line with a control character: %j', async (mark) => {
    await expect(change('add', { mark })).rejects.toThrow(/control characters/);
  });
});

it.each(['dash', 'bash', 'busybox'])('runs in %s', async (shell) => {
  const argv = shell === 'busybox' ? ['busybox', 'sh'] : [shell];
  if (!(await exists(argv[0] ?? ''))) return;
  host.shell = argv;
  await have(FOREIGN);
  await change('add');
  await change('remove');
  expect(await readFile(file())).toEqual(FOREIGN);
});

const exists = (name: string) =>
  new Promise<boolean>((resolve) => execFile('which', [name], (error) => resolve(error === null)));
