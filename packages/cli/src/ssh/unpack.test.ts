import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { END, inPieces, installPackers, member, packed, PACKER_NAMES } from '../../test/archives.js';
import { unpack } from './unpack.js';

beforeAll(installPackers, 300_000);

let top: string;
let target: string;
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'nodepool-unpack-')));
  target = join(top, 'workspace', 'aside');
  mkdirSync(target, { recursive: true });
  writeFileSync(join(top, 'workspace', 'Makefile'), 'mine');
});
afterEach(() => {
  expect(readFileSync(join(top, 'workspace', 'Makefile'), 'utf8')).toBe('mine');
  expect(readdirSync(join(top, 'workspace')).sort()).toEqual(['Makefile', 'aside']);
  rmSync(top, { recursive: true, force: true });
});

/** A directory of files on a machine: contents by path; `-> x` is a link, `= x` a hard link, `fifo` a FIFO. */
function tree(name: string, files: Readonly<Record<string, string>>): string {
  const directory = join(top, name);
  for (const [path, content] of Object.entries(files)) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    if (content.startsWith('-> ')) symlinkSync(content.slice(3), file);
    else if (content.startsWith('= ')) linkSync(join(directory, content.slice(2)), file);
    else if (content === 'fifo') execFileSync('mkfifo', [file]);
    else writeFileSync(file, content);
  }
  return directory;
}

async function unpackAll(archive: Buffer, name = 'report') {
  const { refused, failed, error } = await unpack(inPieces(Buffer.concat([archive, END])), target, name);
  return { refused: String(refused), failed: String(failed), error };
}

/** Paths and contents of what was unpacked. */
function unpacked(): Record<string, string> {
  const found = readdirSync(target, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  return Object.fromEntries(
    found.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const content = entry.isSymbolicLink() ? `-> ${readlinkSync(path)}` : readFileSync(path, 'utf8');
      return [path.slice(target.length + 1), content];
    }),
  );
}

describe.each(PACKER_NAMES)('an archive of %s', (packer) => {
  it('is unpacked with its files, directories and links inside', async () => {
    const files = {
      'report/a b.xml': 'content',
      'report/deep/down/x': 'x',
      'report/hard': '= report/deep/down/x',
      'report/deep/up': '-> ../a b.xml',
      'report/libx.so': '-> libx.so.1',
      'report/libx.so.1': '-> libx.so.1.2',
      'report/libx.so.1.2': 'library',
      'report/dangling': '-> nowhere',
    };

    const outcome = await unpackAll(packed(packer, tree('machine', files), './report'));

    expect(outcome).toEqual({ refused: '', failed: '', error: undefined });
    expect(unpacked()).toEqual({ ...files, 'report/hard': 'x' });
  });

  it('does not leave the directory through a link that it brings', async () => {
    const link = tree('first', { 'report.xml': '-> ..' });
    const files = tree('second', { 'report.xml/Makefile': 'theirs' });
    const archive = [packed(packer, link, './report.xml'), packed(packer, files, './report.xml')];

    const outcome = await unpackAll(Buffer.concat(archive), 'report.xml');

    expect(outcome.refused).toBe('"./report.xml" (a link that leads elsewhere)');
    expect(unpacked()).toEqual({ 'report.xml/Makefile': 'theirs' });
    expect(lstatSync(join(target, 'report.xml')).isDirectory()).toBe(true);
  });

  it('does not follow a link inside to what comes later', async () => {
    const link = tree('first', { 'report/a/x': '', 'report/l': '-> a' });
    const files = tree('second', { 'report/l/y': 'y', 'report/l/m': '-> x' });
    const archive = [packed(packer, link, './report'), packed(packer, files, './report/l')];

    const { failed } = await unpackAll(Buffer.concat(archive));

    expect(failed).toMatch(/^"report\/l" \(EEXIST/);
    expect(unpacked()).toEqual({ 'report/a/x': '', 'report/l/y': 'y', 'report/l/m': '-> x' });
  });

  it.each([
    ['-> /etc/passwd'],
    ['-> ../Makefile'],
    ['-> ../aside2/x'],
    ['-> a/../../Makefile'],
    ['-> to-top/../Makefile'],
    ['-> .././../workspace/Makefile'],
  ])('is unpacked without a link %s', async (link) => {
    const files = { 'report/a/to-top': '-> ..', 'report/a/b/to-top': '-> ../..', 'report/link': link };
    const { 'report/link': _, ...kept } = files;

    const { refused } = await unpackAll(packed(packer, tree('machine', files), './report'));

    expect(refused).toBe('"./report/link" (a link that leads elsewhere)');
    expect(unpacked()).toEqual(kept);
  });

  it('is unpacked without FIFOs, and without what was not asked for', async () => {
    const files = { Makefile: 'theirs', 'report/fifo': 'fifo', 'report/x': 'x', 'reports/y': 'y' };
    const directory = tree('machine', files);

    const { refused } = await unpackAll(packed(packer, directory, './Makefile', './report', './reports/y'));

    expect(refused).toBe(
      '"./Makefile" (not the file that was asked for), "./report/fifo" (a FIFO), "./reports/y" (not the file that was asked for)',
    );
    expect(unpacked()).toEqual({ 'report/x': 'x' });
  });

  it('is unpacked without a hard link to a file of the caller', async () => {
    const files = { Makefile: 'theirs', 'report/hard': '= Makefile', 'report/x': 'x' };

    const { refused } = await unpackAll(packed(packer, tree('machine', files), './Makefile', './report'));

    expect(refused).toContain('"./report/hard" (a link that leads elsewhere)');
    expect(unpacked()).toEqual({ 'report/x': 'x' });
  });

  it('sets no setuid bit, and gives the files to the caller', async () => {
    const directory = tree('machine', { 'report/x': 'x' });
    chmodSync(join(directory, 'report/x'), 0o6755);
    chmodSync(join(directory, 'report'), 0o1555);

    await unpackAll(packed(packer, directory, './report'));

    expect(statSync(join(target, 'report/x')).mode & 0o7700).toBe(0o700);
    expect(statSync(join(target, 'report')).mode & 0o7700).toBe(0o700);
    expect(statSync(join(target, 'report/x')).uid).toBe(process.getuid?.());
  });
});

describe('an archive that no program packs', () => {
  it.each([
    ['an absolute path', { path: '/report/x' }],
    ['a path that goes up', { path: 'report/../x' }],
    ['the directory itself', { path: '.', type: 'Directory' }],
    ['a device', { path: 'report/x', type: 'CharacterDevice', devmaj: 1, devmin: 3 }],
    ['a block device', { path: 'report/x', type: 'BlockDevice' }],
    ['a hard link that goes up', { path: 'report/x', type: 'Link', linkpath: 'report/../../Makefile' }],
    ['an absolute hard link', { path: 'report/x', type: 'Link', linkpath: '/etc/passwd' }],
    ['a link as the outermost file', { path: 'report', type: 'SymbolicLink', linkpath: 'report' }],
  ] as const)('with %s leaves it out', async (_, data) => {
    const { refused, error } = await unpackAll(Buffer.concat([member(data), member({ path: 'report/y' }, 'y')]));

    expect(refused).toMatch(/^"[^"]+" \([^)]+\)$/);
    expect(error).toBeUndefined();
    expect(unpacked()).toEqual({ 'report/y': 'y' });
  });

  it('names a few members that it leaves out, with escaped names, and counts the others', async () => {
    const fifos = Array.from({ length: 10_000 }, (_, i) => member({ path: `report/\u001b[2J${i}`, type: 'FIFO' }));

    const { refused } = await unpackAll(Buffer.concat(fifos));

    expect(refused).toMatch(/^"report\/\\u001b\[2J0" \(a FIFO\), .*\(a FIFO\) and 9995 more$/);
    expect(refused.length).toBeLessThan(300);
  });

  it.each([
    ['no time', 'mtime=abc'],
    ['a number as its name', 'path=123'],
    ['a null in its name', 'path=report/a\0b'],
    ['an endless time', 'mtime=1e300'],
    ['a negative size', 'size=-1'],
  ])('with %s in an extended header does no harm', async (_, record) => {
    const line = ` ${record}\n`;
    const length = [line.length + 1, line.length + 2].find((n) => String(n).length + line.length === n);
    const extended = member({ path: 'PaxHeader/x', type: 'ExtendedHeader' }, `${length}${line}`);

    await unpackAll(Buffer.concat([extended, member({ path: 'report/x' }, 'x'), member({ path: 'report/y' }, 'y')]));

    expect(existsSync(join(target, 'report/y'))).toBe(true);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('hi\n'.repeat(1000))],
    ['half of a file', member({ path: 'report/x', size: 5000 }, 'x')],
    ['a compressed archive', execFileSync('gzip', { input: member({ path: 'report/x' }, 'x') })],
  ])('is damaged if it is %s', async (_, archive) => {
    const { error } = await unpack(inPieces(archive), target, 'report');

    expect(error).toBeInstanceOf(Error);
  });

  it('ends at its end: what follows is read and dropped', async () => {
    const more = Array.from({ length: 20 }, () => Buffer.alloc(1 << 20, 'x'));
    const { error } = await unpack(
      (async function* () {
        yield* inPieces(Buffer.concat([member({ path: 'report/x' }, 'x'), END]));
        yield* more;
        await Promise.resolve();
      })(),
      target,
      'report',
    );

    expect(error).toBeUndefined();
    expect(unpacked()).toEqual({ 'report/x': 'x' });
  });
});
