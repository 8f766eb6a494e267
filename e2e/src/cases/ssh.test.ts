import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const get = useStatic({ sshd: { count: 1, keyTypes: ['ed25519'] } });

/** Prints a line when it runs, and waits for a signal. */
const WAITS = `trap 'echo got TERM; exit 21' TERM; echo up; while :; do sleep 0.05; done`;

/** Starts `nodepool` in its own directory. */
async function start(terminal: string | undefined, command: string, ...args: string[]) {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-ssh-test-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const config = join(directory, 'nodepool.yaml');
  await writeFile(config, JSON.stringify({ 'zookeeper-servers': get().zookeeper.servers }));
  const identity = command === 'ssh' ? ['-i', get().sshd.clientKeyFile] : [];
  const argv = ['-c', config, command, ...identity, ...args];
  const process =
    terminal === undefined
      ? NodepoolProcess.start(argv, {}, directory)
      : NodepoolProcess.startInTerminal(argv, terminal);
  onTestFinished(() => process.kill());
  return { directory, process };
}

const ssh = (...args: string[]) => start(undefined, 'ssh', ...args);

async function foldersLeft(): Promise<string[]> {
  return (await readdir(homedir())).filter((name) => name.startsWith('nodepool-ssh-'));
}

const outputOf = ({ process }: { process: NodepoolProcess }, pattern: RegExp) =>
  expect.poll(() => process.stdout, { timeout: SOON_MS, interval: 20 }).toMatch(pattern);

describe('nodepool ssh', () => {
  beforeEach(() => get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small'))));

  it('runs a command on the node and passes arguments, input, output and exit status unchanged', async () => {
    const words = ['a  b', "it's", '$HOME', '*', ''];
    const { process } = await ssh(
      'small',
      '--',
      'sh',
      '-c',
      'cat; echo "$SSH_CONNECTION"; printf "<%s>" "$@"; exit 7',
      'sh',
      ...words,
    );
    process.type('input\n');
    process.endInput();

    expect(await process.end(), process.stderr).toBe(7);
    expect(process.stdout).toMatch(/^input\n/);
    expect(process.stdout).toContain(` ${get().host(0).address} ${get().host(0).port}\n`);
    expect(process.stdout).toContain(words.map((word) => `<${word}>`).join(''));
    await get().assertClean();
  });

  it('copies a directory to the node, runs the command in it, fetches files, and removes it', async () => {
    const source = await mkdtemp(join(tmpdir(), 'nodepool copy '));
    onTestFinished(() => rm(source, { recursive: true }));
    await mkdir(join(source, 'sub dir'));
    await writeFile(join(source, 'sub dir', 'a file'), 'content');
    const make = 'mkdir "my results"; cp "sub dir/a file" "my results"; pwd';
    const run = await ssh('small', '--copy', source, '--fetch', 'my results', '--', 'sh', '-c', make);

    expect(await run.process.end(), run.process.stderr).toBe(0);
    const folder = /\/(nodepool-ssh-\w+)\/nodepool copy \w+\n$/.exec(run.process.stdout)?.[1];
    expect(folder).toBeDefined();
    expect(await readFile(join(run.directory, 'my results', 'a file'), 'utf8')).toBe('content');
    // other test files copy to the same home at the same time
    expect(await foldersLeft()).not.toContain(folder);
  });

  it.each([
    ['true', 1],
    ['exit 9', 9],
  ])('reports a file that it cannot fetch; after "%s" it ends with %i', async (command, status) => {
    const { process } = await ssh('small', '--fetch', 'no such', '--', 'sh', '-c', command);

    expect(await process.end()).toBe(status);
    expect(process.stderr).toMatch(/Cannot fetch no such: node \d+ \(root@\S+ port \d+\) has no such file/);
  });

  it('reports a failed login and names the option for a key', async () => {
    const { process } = await start(undefined, 'ssh', '-i', '/dev/null', 'small', '--', 'true');

    expect(await process.end()).toBe(255);
    expect(process.stderr).toMatch(/could not log in to node \d+ .*--identity/s);
  });

  it('passes a signal on to the command on the node', async () => {
    const run = await ssh('small', '--', 'sh', '-c', WAITS);
    await outputOf(run, /up/);

    run.process.signal('SIGTERM');

    expect(await run.process.end()).toBe(21);
    expect(run.process.stdout).toBe('up\ngot TERM\n');
  });

  it('ends the command on the node when Ctrl-C ends ssh', async () => {
    // its folder has the id of the shell that runs it
    const run = await ssh('small', '--', 'sh', '-c', 'grep -lx $PPID nodepool-ssh-*/pid; echo $$; exec sleep 4321');
    await outputOf(run, /\n\d+\n/);
    const [folder = '', pid] = run.process.stdout.split(/\/pid\n|\n/);

    process.kill(-run.process.pid, 'SIGINT');

    expect(await run.process.end()).toBe(130);
    expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
    expect(folder).toMatch(/^nodepool-ssh-\w+$/);
    expect(await foldersLeft()).not.toContain(folder);
  });

  it('gives the command a terminal if it has one, and passes Ctrl-C on', async () => {
    const script = `trap 'echo got INT; exit 33' INT; tty; echo up; while :; do sleep 0.05; done`;
    const run = await start('/dev/tty', 'ssh', '-i', get().sshd.clientKeyFile, 'small', '--', 'sh', '-c', script);
    await outputOf(run, /up/);

    run.process.type('\x03');

    expect(await run.process.end()).toBe(33);
    expect(run.process.stdout).toMatch(/\/dev\/pts\/\d+\s+up.*got INT/s);
  });
});

describe.each(['ssh', 'run'])('nodepool %s --hold-on-failure', (command) => {
  beforeEach(() => get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small'))));

  it('holds the node of a failed command and prints until when', async () => {
    const { process } = await start(undefined, command, 'small', '--hold-on-failure=2h', '--', 'false');

    expect(await process.end(), process.stderr).toBe(1);
    const [, id = ''] = /node (\d+) is held until \S+\n {2}ssh .*\n {2}nodepool delete \1 /.exec(process.stderr) ?? [];
    const zuul = await get().newClient();
    expect((await zuul.readNode(id)).body).toMatchObject({ state: 'hold', hold_expiration: 7200 });
    const deletion = await start(undefined, 'delete', id);
    expect(await deletion.process.end()).toBe(0);
    await get().assertClean();
  });

  it('returns the node of a successful command', async () => {
    const { process } = await start(undefined, command, 'small', '--hold-on-failure', '--', 'true');

    expect(await process.end(), process.stderr).toBe(0);
    expect(process.stderr).not.toContain('is held');
    await get().assertClean();
  });
});
