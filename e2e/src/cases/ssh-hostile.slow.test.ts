import { mkdtempSync, rmSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { NodepoolProcess } from '../nodepool-process.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const machine = mkdtempSync(join(tmpdir(), 'nodepool-machine-'));
afterAll(() => rmSync(machine, { recursive: true, force: true }));
/** What the machine does with each command is written by the tests. */
const LOGIN = join(machine, 'login');
const options = [`ForceCommand sh ${LOGIN}`];
const get = useStatic({ sshd: { count: 1, keyTypes: ['ed25519'], options } });

/** Runs `nodepool ssh` in a directory with a file of the caller. */
async function ssh(...args: string[]) {
  const workspace = await mkdtemp(join(tmpdir(), 'nodepool-workspace-'));
  onTestFinished(() => rm(workspace, { recursive: true, force: true }));
  await writeFile(join(workspace, 'Makefile'), 'mine');
  const run = async () => {
    const config = join(machine, 'nodepool.yaml');
    await writeFile(config, JSON.stringify({ 'zookeeper-servers': get().zookeeper.servers }));
    const argv = ['-c', config, 'ssh', '-q', '-i', get().sshd.clientKeyFile, 'small', ...args];
    const process = NodepoolProcess.start(argv, {}, workspace);
    onTestFinished(() => process.kill());
    const status = await process.end();
    return { status, stdout: process.stdout, stderr: process.stderr };
  };
  return { workspace, run };
}

/** Debian packages of login shells that read commands in their own ways. */
const SHELLS = ['tcsh', 'fish', 'zsh'];

describe('a machine whose login shell is unusual', () => {
  beforeAll(() => ensureDebianPackages(SHELLS));
  beforeEach(() => get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small'))));

  it.each([
    ['prints when it starts', 'echo hi; printf "no end of line"; eval "$SSH_ORIGINAL_COMMAND"'],
    ...SHELLS.map((shell) => [`is ${shell}`, `${shell} -c "$SSH_ORIGINAL_COMMAND"`]),
  ])('gets copies and gives output and files: it %s', async (_, login) => {
    await writeFile(LOGIN, login);
    const source = join(machine, 'source');
    await mkdir(source, { recursive: true });
    await writeFile(join(source, 'file'), 'content');
    const words = ['!', "it's", '\\', 'a\nb', '$HOME'];
    const script = 'cat file; printf "<%s>" "$@" | tee report.xml; exit 7';
    const { workspace, run } = await ssh(
      ...['--copy', source, '--fetch', 'report.xml', '--', 'sh', '-c', script, 'sh'],
      ...words,
    );
    const printed = words.map((word) => `<${word}>`).join('');

    expect(await run()).toEqual({ status: 7, stdout: `content${printed}`, stderr: '' });
    expect(await readFile(join(workspace, 'report.xml'), 'utf8')).toBe(printed);
  });

  it.each([
    ['is nologin', 'echo This account is currently not available.; exit 5', 5],
    ['ends in a start file', 'exit 0', 1],
  ])('is named if it runs no command: it %s', async (_, login, status) => {
    await writeFile(LOGIN, login);
    const { run } = await ssh('--', 'true');

    expect(await run()).toMatchObject({
      status,
      stdout: '',
      stderr: expect.stringMatching(/the login shell of node \d+/) as string,
    });
  });
});

describe('a machine with a hostile tar', () => {
  beforeEach(async () => {
    await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')));
    await mkdir(join(machine, 'bin'), { recursive: true });
    await writeFile(LOGIN, `cd ${machine}; touch report.xml; PATH=${machine}/bin:$PATH; eval "$SSH_ORIGINAL_COMMAND"`);
  });

  /** `tar` of the machine sends two archives as one. */
  const sends = (first: string, second: string) => {
    const script = `#!/bin/sh
      cd "$(mktemp -d ${machine}/XXXXXX)" && mkdir first second && (cd first; ${first}) && (cd second; ${second})
      /bin/tar -c -f archive -C first ./report.xml; /bin/tar -r -f archive -C second ./report.xml; cat archive`;
    return writeFile(join(machine, 'bin', 'tar'), script, { mode: 0o755 });
  };

  it('overwrites no file of the caller through a link that it sends first', async () => {
    await sends('ln -s . report.xml', 'mkdir report.xml; echo theirs >report.xml/Makefile');
    const { workspace, run } = await ssh('--fetch', 'report.xml', '--', 'true');

    const { status, stderr } = await run();

    expect([status, stderr]).toEqual([0, expect.stringContaining('"./report.xml" (a link that leads elsewhere)')]);
    expect(await readFile(join(workspace, 'Makefile'), 'utf8')).toBe('mine');
    expect((await lstat(join(workspace, 'report.xml'))).isDirectory()).toBe(true);
    expect((await readdir(workspace)).sort()).toEqual(['Makefile', 'report.xml']);
  });

  it('overwrites no file through a link that an earlier run has left', async () => {
    await sends('mkdir report.xml', 'mkdir report.xml; echo theirs >report.xml/Makefile');
    const { workspace, run } = await ssh('--fetch', 'report.xml', '--', 'true');
    await symlink(workspace, join(workspace, 'report.xml'));

    expect(await run()).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(await readFile(join(workspace, 'Makefile'), 'utf8')).toBe('mine');
    expect(await readFile(join(workspace, 'report.xml', 'Makefile'), 'utf8')).toBe('theirs\n');
  });

  it('leaves no FIFO on which a reader hangs, and no link to a file of the caller', async () => {
    await sends('mkfifo report.xml', 'ln -s /etc/passwd report.xml');
    const { workspace, run } = await ssh('--fetch', 'report.xml', '--', 'true');

    expect(await run()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('nothing usable came: left out "./report.xml" (a FIFO)') as string,
    });
    expect(await readdir(workspace)).toEqual(['Makefile']);
  });
});
