import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  checkOwnDirectory,
  checkPlaceOfService,
  checkPrivilegedDirectory,
  checkServiceFile,
  checkSharedPlace,
  makePrivateDirectory,
} from './own-directory.js';

const OWN = process.geteuid?.() ?? 0;
/** For whom everything that this process makes belongs to another user. */
const OTHER_USER = OWN + 4_711;
const OTHER = OTHER_USER + 1;
const REMEDY = 'choose another';

let base: string;
/** Like `/tmp`: every user may make entries, and rename only own ones. */
let shared: string;
/** Every user may exchange what is in it. */
let open: string;

function directory(mode: number, ...names: string[]): string {
  const path = join(base, ...names);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
}

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'own-directory-'));
  shared = directory(0o1777, 'shared');
  open = directory(0o777, 'open');
});
afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

const modeOf = (path: string) => lstatSync(path).mode & 0o777;

/** @returns the user for whom the directory belongs to another one: root's belong to everybody */
function giveAway(path: string): number {
  if (OWN !== 0) return OTHER_USER;
  chownSync(path, OTHER_USER, -1);
  return OWN;
}

/** As {@link giveAway}, for a user who is not root. */
function strangerTo(path: string): number {
  return giveAway(path) === OTHER_USER ? OTHER_USER : OTHER;
}

/** What the call throws; `undefined` when it does not. */
function refusal(call: () => void): { code: string; message: string } | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    return error as { code: string; message: string };
  }
}

describe('makePrivateDirectory', () => {
  const make = (path: string, uid = OWN) => refusal(() => makePrivateDirectory(path, REMEDY, uid));

  it('creates the directory for this user alone, regardless of the umask', () => {
    const path = join(shared, 'mine');

    expect(make(path)).toBeUndefined();

    expect(modeOf(path)).toBe(0o700);
  });

  it('removes read permission of other users', () => {
    const path = directory(0o755, 'shared', 'mine');

    expect(make(path)).toBeUndefined();

    expect(modeOf(path)).toBe(0o700);
  });

  it('refuses a directory of another user, with the remedy', () => {
    const path = directory(0o700, 'shared', 'theirs');

    expect(make(path, giveAway(path))).toMatchObject({
      code: 'NODEPOOL_UNSAFE_DIRECTORY',
      message: expect.stringMatching(
        /^".*theirs" is not used: ".*" belongs to another user .*; choose another$/,
      ) as string,
    });
  });

  it.each([
    ['a link', () => symlinkSync(base, join(shared, 'x')), 'is a link in a directory that every user may write to'],
    ['a dangling link', () => symlinkSync('/gone', join(shared, 'x')), 'is a link in a directory'],
    ['a file', () => writeFileSync(join(shared, 'x'), ''), 'is not a directory'],
    ['what others may write to', () => directory(0o777, 'shared', 'x'), 'other users may write to'],
    ['what its group may write to', () => directory(0o770, 'shared', 'x'), 'other users may write to'],
    ['what others may write to, sticky', () => directory(0o1777, 'shared', 'x'), 'other users may write to'],
  ])('refuses %s', (_, prepare, reason) => {
    prepare();
    const path = join(shared, 'x');
    const before = lstatSync(path);

    expect(make(path)?.message).toContain(reason);

    expect(lstatSync(path)).toMatchObject({ mode: before.mode, ino: before.ino });
  });

  it('refuses a path that other users may replace, and creates nothing there', () => {
    expect(make(join(open, 'mine'))?.message).toContain(`other users may write to "${open}" (mode 777)`);
    expect(make(join(directory(0o775, 'grouped'), 'mine'))?.message).toContain('(mode 775)');
    expect(refusal(() => lstatSync(join(open, 'mine')))).toMatchObject({ code: 'ENOENT' });
  });

  it('follows links in places of our own', () => {
    symlinkSync(shared, join(base, 'link'));

    expect(make(join(base, 'link', 'mine'))).toBeUndefined();
    symlinkSync(open, join(base, 'weak'));
    expect(make(join(base, 'weak', 'mine'))?.message).toContain('other users may write to');
  });
});

describe('checkSharedPlace', () => {
  const check = (path: string, uid = OWN) => refusal(() => checkSharedPlace(path, REMEDY, uid));

  it('accepts a directory that is our own, missing, or not in a shared place', () => {
    const link = join(base, 'link');
    symlinkSync(shared, link);
    for (const path of [
      shared,
      link,
      join(link, 'gone'),
      join(shared, 'gone', 'x'),
      directory(0o755, 'shared', 'x'),
      directory(0o775, 'grouped'),
    ])
      expect(check(path)).toBeUndefined();
    expect(check(directory(0o755, 'theirs'), 0)).toBeUndefined();
  });

  it('refuses links, and what another user has put into a shared place', () => {
    symlinkSync(base, join(shared, 'link'));
    const theirs = directory(0o755, 'shared', 'theirs');

    expect(check(join(shared, 'link', 'file'))?.message).toContain('is a link');
    expect(check(join(theirs, 'deep', 'file'), giveAway(theirs))?.message).toContain(
      `"${theirs}" belongs to another user`,
    );
  });

  it('refuses a place below a directory in which every user may exchange everything', () => {
    const reason = `other users may write to "${open}" (mode 777)`;
    symlinkSync(open, join(base, 'link'));
    for (const path of [open, join(open, 'gone'), directory(0o755, 'open', 'mine'), join(base, 'link', 'mine')])
      expect(check(path)?.message).toContain(reason);
  });

  it('refuses a place whose way leads through a directory of another user, unless an own group may write', () => {
    const theirs = directory(0o755, 'theirs');
    const uid = strangerTo(theirs);

    expect(check(join(theirs, 'x'), uid)?.message).toContain('belongs to another user');
    if (OWN !== 0) return; // Only root can show the other half: the base is another user's already.
    expect(check(join(theirs, 'x'), OTHER_USER)).toBeUndefined();
    expect(check(join(theirs, 'x'), OWN)).toBeUndefined();
    expect(refusal(() => checkPlaceOfService(join(theirs, 'x'), REMEDY, uid))).toBeUndefined();
    chmodSync(theirs, 0o775);
    expect(check(join(theirs, 'x'), uid)).toBeUndefined();
    chownSync(theirs, OTHER_USER, OTHER_USER);
    expect(check(join(theirs, 'x'), uid)?.message).toContain('belongs to another user');
  });

  it('refuses a sticky directory of another user, who may replace all its entries', () => {
    expect(check(join(shared, 'mine'), giveAway(shared))?.message).toContain('belongs to another user');
  });

  it('ends for links that lead in a circle', () => {
    symlinkSync(join(base, 'b'), join(base, 'a'));
    symlinkSync(join(base, 'a'), join(base, 'b'));

    expect(check(join(base, 'a', 'x'))).toBeUndefined();
  });
});

describe('checkOwnDirectory', () => {
  const check = (path: string) => refusal(() => checkOwnDirectory(path, REMEDY, OWN));

  it('rejects a world-writable directory, but not one in it that no other user can replace', () => {
    expect(check(open)?.message).toContain(`other users may write to "${open}" (mode 777)`);
    expect(check(shared)?.message).toContain('(mode 1777)');
    expect(check(join(shared, 'mine'))).toBeUndefined();
    expect(check(join(open, 'mine'))?.message).toContain(
      `other users may write to "${open}" (mode 777): if they need not, "chmod o-w ${open}"; ${REMEDY}`,
    );
    expect(check(shared)?.message).not.toContain('chmod'); // It is shared on purpose, like /tmp.
    expect(check(directory(0o775, 'grouped'))).toBeUndefined();
  });
});

describe('checkPrivilegedDirectory of root', () => {
  const check = (path: string, trusted: readonly string[] = [], uid = 0) =>
    refusal(() => checkPrivilegedDirectory({ path, remedy: REMEDY, trusted }, uid))?.message;

  it('rejects a directory of another user, and one above it, with the command that corrects it', () => {
    if (OWN !== 0) return; // Only root can give directories away.
    const state = directory(0o755, 'state');
    const images = directory(0o755, 'state', 'images');
    chownSync(images, OTHER_USER, OTHER_USER);

    expect(check(images)).toContain(`"${images}" belongs to another user (uid ${OTHER_USER})`);
    expect(check(images)).toContain(`"chown -R root:root ${images}", or name it in trusted-directories; ${REMEDY}`);
    chownSync(images, 0, 0);
    chownSync(state, OTHER_USER, OTHER_USER);
    expect(check(images)).toContain(`"chown root:root ${state}"`);
    expect(check(join(state, 'missing'))).toContain('belongs to another user');
    chownSync(state, 0, 0);
    expect(check(images)).toBeUndefined();
  });

  it('rejects a directory that the group of another user may write to, unless it is sticky', () => {
    if (OWN !== 0) return; // Only root can give directories away.
    const state = directory(0o775, 'state');
    chownSync(state, 0, OTHER_USER);

    expect(check(join(state, 'images'))).toContain(`(mode 775): if its group (gid ${OTHER_USER})`);
    expect(check(join(state, 'images'))).toContain(`"chmod g-w ${state}"`);
    chmodSync(state, 0o1775);
    expect(check(join(state, 'images'))).toBeUndefined();
    expect(check(state)).toContain('chmod g-w');
    expect(check(join(shared, 'images'))).toBeUndefined();
  });

  it('accepts trusted directories by name, but not those that every user may write to', () => {
    if (OWN !== 0) return; // Only root can give directories away.
    const state = directory(0o775, 'state');
    chownSync(state, OTHER_USER, OTHER_USER);

    expect(check(join(state, 'images'), [`${state}/`])).toBeUndefined();
    expect(check(join(state, 'images'), [base])).toContain('belongs to another user');
    expect(check(join(open, 'images'), [open])).toContain(`"chmod o-w ${open}"; ${REMEDY}`);
  });

  it('is no stricter than checkOwnDirectory for another user', () => {
    if (OWN !== 0) return; // Only root can give directories away.
    const group = directory(0o775, 'group');
    chownSync(group, OTHER_USER, OTHER_USER);

    expect(check(join(group, 'images'), [], OTHER_USER)).toBeUndefined();
  });
});

describe('checkServiceFile', () => {
  const check = (path: string, uid = 0) => refusal(() => checkServiceFile(path, REMEDY, uid))?.message;

  it('rejects for root a file in a directory that another user or group may change, with the command that corrects it', () => {
    if (OWN !== 0) return; // Only root can give directories away.
    const logs = directory(0o755, 'logs');
    const file = join(logs, 'nodepool.log');
    const link = join(base, 'linked.log');
    symlinkSync(file, link);

    chownSync(logs, OTHER_USER, OTHER_USER);
    expect(check(file)).toContain(`"chown root:root ${logs}"; ${REMEDY}`);
    expect(check(link)).toContain(`"chown root:root ${logs}"`);
    expect(check(file, OTHER_USER)).toBeUndefined();
    chownSync(logs, 0, OTHER_USER);
    expect(check(file)).toBeUndefined();
    chmodSync(logs, 0o775);
    expect(check(file)).toContain(`"chmod g-w ${logs}"`);
    chmodSync(logs, 0o1775);
    expect(check(file)).toBeUndefined();
  });

  it('accepts for root a file of another user in a directory of root', () => {
    if (OWN !== 0) return; // Only root can give files away.
    const file = join(directory(0o755, 'logs'), 'nodepool.log');
    writeFileSync(file, '');
    chownSync(file, OTHER_USER, OTHER_USER);

    expect(check(file)).toBeUndefined();
  });
});
