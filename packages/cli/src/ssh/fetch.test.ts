import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { END, installPackers, member, packed, PACKER_NAMES } from '../../test/archives.js';
import { runTransfer } from '../../test/run-transfer.js';
import { remoteFile } from './fetch.js';

beforeAll(installPackers, 300_000);

let directory: string;
let workspace: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'nodepool-ssh-'));
  workspace = join(directory, 'workspace');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'Makefile'), 'mine');
});
afterEach(() => {
  expect(readFileSync(join(workspace, 'Makefile'), 'utf8')).toBe('mine');
  expect(readdirSync(workspace).filter((name) => name.startsWith('.'))).toEqual([]);
  rmSync(directory, { recursive: true, force: true });
});

/** Fetches a file of a machine that sends this archive. */
function fetched(archive: Buffer, { name = 'report', status = 0, cwd = workspace } = {}) {
  const file = join(directory, 'archive');
  writeFileSync(file, archive);
  const fetch = `fetchFrom(node, ${JSON.stringify({ directory: '.', name })}, '', { clock, signal })`;
  return runTransfer(directory, fetch, `echo hi; printf '\\n%s\\n' "$1"; cat '${file}'; exit ${status}`, cwd);
}

const archiveOf = (...members: Buffer[]) => Buffer.concat([...members, END]);
const REPORT = archiveOf(member({ path: './report' }, 'new'));
const contentOf = (path: string) => readFileSync(join(workspace, path), 'utf8');

describe('a fetched file', () => {
  it('replaces the one that is there', async () => {
    writeFileSync(join(workspace, 'report'), 'old and longer');

    expect(await fetched(REPORT)).toEqual({ status: 0, errors: '' });
    expect(contentOf('report')).toBe('new');
  });

  it('replaces a link that is there, and does not follow it', async () => {
    symlinkSync('Makefile', join(workspace, 'report'));

    expect(await fetched(REPORT)).toEqual({ status: 0, errors: '' });
    expect(contentOf('report')).toBe('new');
  });

  it('does not replace a directory', async () => {
    mkdirSync(join(workspace, 'report'));

    expect(await fetched(REPORT)).toMatchObject({
      status: 1,
      errors: expect.stringContaining('Cannot store report in ') as string,
    });
    expect(readdirSync(join(workspace, 'report'))).toEqual([]);
  });

  it('is stored in the working directory, also if that is reached through a link', async () => {
    symlinkSync(workspace, join(directory, 'link'));

    expect(await fetched(REPORT, { cwd: join(directory, 'link') })).toEqual({ status: 0, errors: '' });
    expect(contentOf('report')).toBe('new');
  });

  it('is not stored if the connection broke', async () => {
    const { status, errors } = await fetched(REPORT, { status: 255 });

    expect([status, errors]).toEqual([1, 'Cannot fetch report from node 1: ssh ended with status 255\n']);
    expect(readdirSync(workspace)).toEqual(['Makefile']);
  });

  it('is not stored if it came in part', async () => {
    const { status, errors } = await fetched(member({ path: './report', size: 5000 }, 'x'));

    expect(status).toBe(1);
    expect(errors).toMatch(/^Cannot fetch report from node 1: the archive that it sent is damaged: .*Truncated/);
    expect(readdirSync(workspace)).toEqual(['Makefile']);
  });

  it('is stored although tar could not read all, which is an error', async () => {
    const { status, errors } = await fetched(REPORT, { status: 2 });

    expect(status).toBe(1);
    expect(errors).toMatch(/^Cannot fetch all of report from node 1 to .*tar ended with status 2 on the node/);
    expect(contentOf('report')).toBe('new');
  });

  it('is missing if the machine sends anything else: the error says what', async () => {
    const link = member({ path: './report', type: 'SymbolicLink', linkpath: 'Makefile' });

    const { status, errors } = await fetched(archiveOf(link, member({ path: 'Makefile' }, 'theirs')));

    expect(status).toBe(1);
    expect(errors).toContain(
      'nothing usable came: left out "./report" (a link that leads elsewhere), "Makefile" (not the file that was asked for)',
    );
    expect(readdirSync(workspace)).toEqual(['Makefile']);
  });
});

describe('a fetched directory', () => {
  const file = (path: string) => member({ path: `./report/${path}` }, 'new');

  it('keeps other files of one that is there', async () => {
    mkdirSync(join(workspace, 'report', 'deep'), { recursive: true });
    for (const name of ['old', 'deep/old', 'deep/both']) writeFileSync(join(workspace, 'report', name), 'old');

    expect(await fetched(archiveOf(file('deep/new'), file('deep/both')))).toEqual({ status: 0, errors: '' });
    expect(readdirSync(join(workspace, 'report'), { recursive: true }).sort()).toEqual([
      'deep',
      'deep/both',
      'deep/new',
      'deep/old',
      'old',
    ]);
    expect([contentOf('report/deep/both'), contentOf('report/deep/old')]).toEqual(['new', 'old']);
  });

  it('replaces links of an earlier run, and does not follow them', async () => {
    mkdirSync(join(workspace, 'report'));
    const outside = join(directory, 'outside');
    mkdirSync(outside);
    for (const name of ['report/deep', 'report/x']) symlinkSync(outside, join(workspace, name));

    expect(await fetched(archiveOf(file('deep/new'), file('x')))).toEqual({ status: 0, errors: '' });
    expect([contentOf('report/deep/new'), contentOf('report/x')]).toEqual(['new', 'new']);
    expect(readdirSync(outside)).toEqual([]);
  });

  it('replaces a link in its place, and does not follow it', async () => {
    symlinkSync('..', join(workspace, 'report'));

    expect(await fetched(archiveOf(file('workspace/Makefile')))).toEqual({ status: 0, errors: '' });
    expect(contentOf('report/workspace/Makefile')).toBe('new');
  });

  it.each(PACKER_NAMES)('of %s comes without what is not safe, which is said', async (packer) => {
    const machine = join(directory, 'machine');
    mkdirSync(join(machine, 'report'), { recursive: true });
    writeFileSync(join(machine, 'report', 'x'), 'x');
    symlinkSync('/etc/passwd', join(machine, 'report', 'passwd'));
    symlinkSync('x', join(machine, 'report', 'inside'));

    const outcome = await fetched(archiveOf(packed(packer, machine, './report')));

    const told =
      'nodepool: fetched report without what is not safe to store: "./report/passwd" (a link that leads elsewhere)\n';
    expect(outcome).toEqual({ status: 0, errors: told });
    expect(readdirSync(join(workspace, 'report')).sort()).toEqual(['inside', 'x']);
    expect(readlinkSync(join(workspace, 'report', 'inside'))).toBe('x');
  });
});

it.each([
  ['results', { directory: '.', name: 'results' }],
  ['out/a b.log', { directory: './out', name: 'a b.log' }],
  ['out//deep/../x/', { directory: './out', name: 'x' }],
  ['/var/log/syslog', { directory: '/var/log', name: 'syslog' }],
  ['../up', { directory: './..', name: 'up' }],
  ['-n', { directory: '.', name: '-n' }],
  ['.', undefined],
  ['..', undefined],
  ['a/..', undefined],
  ['/', undefined],
])('the file %j of a node', (path, expected) => {
  expect(remoteFile(path)).toEqual(expected);
});
