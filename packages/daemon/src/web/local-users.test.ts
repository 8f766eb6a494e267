import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '@nodepool/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { LocalUsers } from './local-users.js';

const self = process.getuid?.() ?? 0;
/** A user whose files this process can make. */
const other = self === 0 ? 12_345 : self;

function usersIn() {
  const directory = mkdtempSync(join(tmpdir(), 'nodepool-logins-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const clock = new VirtualClock(1_000);
  const make = () => new LocalUsers({ directory, hostname: 'nl01', clock });
  return { directory, clock, users: make(), restarted: make };
}

const refused = (why: string): unknown =>
  expect.objectContaining({ status: 401, message: expect.stringContaining(why) as string });

it('takes the owner of the directory that was asked for, on this host, and removes it', () => {
  const { directory, users } = usersIn();
  const challenge = users.challenge();
  mkdirSync(join(directory, challenge.name), { mode: 0o700 });
  chownSync(join(directory, challenge.name), other, -1);

  const token = users.logIn(challenge);

  expect(users.ownerOf(`Bearer ${token}`)).toBe(`uid:${other}@nl01`);
  expect(readdirSync(directory)).toEqual([]);
  expect(() => users.logIn(challenge)).toThrow(refused('There is no directory'));
});

it.each([
  ['a file', (path: string) => writeFileSync(path, '', { mode: 0o700 })],
  ['a link to a directory', (path: string) => symlinkSync('/root', path)],
  [
    'a directory that others may write to, and may have moved here',
    (path: string) => {
      mkdirSync(path);
      chmodSync(path, 0o770);
    },
  ],
  ['a directory that is in use', (path: string) => mkdirSync(join(path, 'x'), { recursive: true, mode: 0o700 })],
])('takes no login for %s', (_what, make) => {
  const { directory, users } = usersIn();
  const challenge = users.challenge();
  make(join(directory, challenge.name));

  expect(() => users.logIn(challenge)).toThrow(expect.objectContaining({ status: 401, code: 'unknown-user' }));
});

it('takes no login for a name that another user has seen, or that it has not given', () => {
  const { directory, users, restarted } = usersIn();
  const [mine, yours] = [users.challenge(), users.challenge()];
  for (const name of [mine.name, 'a'.repeat(32)]) mkdirSync(join(directory, name), { mode: 0o700 });

  const wrong = 'The challenge is wrong or too old';
  expect(() => users.logIn({ name: mine.name, proof: yours.proof })).toThrow(refused(wrong));
  expect(() => users.logIn({ name: 'a'.repeat(32), proof: mine.proof })).toThrow(refused(wrong));
  expect(() => users.logIn({ name: '../x', proof: mine.proof })).toThrow(refused(wrong));
  expect(() => restarted().logIn(mine)).toThrow(refused(wrong));
  expect(users.logIn(mine)).toMatch(/^uid\./);
});

it('takes no login of a user who is not known in the user namespace', () => {
  const { directory, clock } = usersIn();
  const users = new LocalUsers({ directory, hostname: 'nl01', clock, unknownUid: self });
  const challenge = users.challenge();
  mkdirSync(join(directory, challenge.name), { mode: 0o700 });

  expect(() => users.logIn(challenge)).toThrow(expect.objectContaining({ status: 403 }));
});

it('forgets challenges after seconds, and tokens after minutes, or with its process', async () => {
  const { directory, clock, users, restarted } = usersIn();
  const [first, late] = [users.challenge(), users.challenge()];
  for (const { name } of [first, late]) mkdirSync(join(directory, name), { mode: 0o700 });
  const authorization = `Bearer ${users.logIn(first)}`;

  await clock.advance(10_001);
  expect(() => users.logIn(late)).toThrow(refused('too old'));
  expect(users.ownerOf(authorization)).toBe(`uid:${self}@nl01`);
  expect(restarted().ownerOf(authorization)).toBeUndefined();
  await clock.advance(10 * 60_000);
  expect(users.ownerOf(authorization)).toBeUndefined();
});

it('knows no user by a token that was changed', () => {
  const { directory, users } = usersIn();
  const challenge = users.challenge();
  mkdirSync(join(directory, challenge.name), { mode: 0o700 });
  const token = users.logIn(challenge);

  for (const wrong of [
    undefined,
    '',
    token,
    `Bearer ${token}0`,
    `Bearer ${token.replace(`uid.${self}.`, 'uid.77.')}`,
  ]) {
    expect(users.ownerOf(wrong)).toBeUndefined();
  }
});
