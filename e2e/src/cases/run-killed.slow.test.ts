import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { NODEPOOL_PROGRAM, NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';
import { useElastic } from '../use-harness.js';

const get = useElastic();

/** Starts a child that ignores TERM, and one in its own session whose parent ends. Each logs its pid. */
const COMMAND = `
echo $$ >> "$1"
sh -c 'trap "" TERM; echo $$ >> "$1"; while :; do sleep 0.1; done' sh "$1" &
setsid sh -c 'trap "" TERM HUP; (trap "" TERM; exec sh -c "echo \\$\\$ >> $1; exec sleep 1000") & :' sh "$1"
wait
`;
const PROCESSES = 3;

interface Entry {
  readonly pid: number;
  readonly state: string;
  readonly args: string;
}

/** Running processes, without zombies. */
async function processes(): Promise<Entry[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,state=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, state = '', args = ''] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined || state.startsWith('Z') ? [] : [{ pid: Number(pid), state, args }];
  });
}

/** Starts `nodepool run` with a command that starts processes of its own. */
async function start() {
  const dir = get().cloud.dir;
  const proxy = await get().newProxy();
  const log = join(dir, 'pids');
  const config = join(dir, 'nodepool-run.yaml');
  await writeFile(log, '');
  await writeFile(config, JSON.stringify({ 'zookeeper-servers': [{ host: '127.0.0.1', port: proxy.port }] }));
  const args = ['-c', config, 'run', 'small', '--', 'sh', '-c', COMMAND, 'sh', log];
  const run = NodepoolProcess.start(args, { TMPDIR: dir });
  const pids = async () => (await readFile(log, 'utf8')).split('\n').filter(Boolean).map(Number);
  const running = async () => {
    const all = await pids();
    return (await processes()).filter(({ pid }) => all.includes(pid));
  };
  onTestFinished(async () => {
    run.signal('SIGKILL');
    for (const { pid } of await running()) process.kill(pid, 'SIGKILL');
    await run.end();
  });
  await expect.poll(running, { timeout: SOON_MS, interval: 20 }).toHaveLength(PROCESSES);
  const files = async () => (await readdir(dir)).filter((name) => name.startsWith('nodepool-run-'));
  return { run, proxy, running, files };
}

describe('nodepool run', () => {
  beforeEach(() => get().launch(oneProvider({}, { labels: { small: { 'max-ready-age': 2 } } })));

  it('leaves no command, children or files when it is killed', async () => {
    const { run, running, files } = await start();

    run.signal('SIGKILL');

    await expect.poll(running, { timeout: SOON_MS, interval: 20 }).toEqual([]);
    await expect.poll(files, { timeout: SOON_MS, interval: 20 }).toEqual([]);
  });

  it('ends the command with its children when the session is lost', async () => {
    const { run, proxy, running } = await start();

    await proxy.expireSession();

    expect(await run.end()).toBe(1);
    expect(await running()).toEqual([]);
    expect(run.stderr).toContain('the nodes are lost');
  });

  it('ends the command with its children when ZooKeeper cannot be reached', async () => {
    const { run, proxy, running } = await start();

    await proxy.stop();

    expect(await run.end()).toBe(1);
    expect(await running()).toEqual([]);
    expect(run.stderr).toContain('the nodes are lost');
  });

  it('leaves no command or files when it is killed while it ends the command', async () => {
    const { run, proxy, running, files } = await start();
    await proxy.expireSession();
    await run.whenSaid(/the nodes are lost/);

    run.signal('SIGKILL');

    await expect.poll(running, { timeout: SOON_MS, interval: 20 }).toEqual([]);
    await expect.poll(files, { timeout: SOON_MS, interval: 20 }).toEqual([]);
  });

  it('ends the command when its guard process is killed', async () => {
    const { run, running, files } = await start();
    const [directory = 'none'] = await files();
    const guards = (await processes()).filter(({ args }) => args.includes(directory) && args.includes('guard'));
    expect(guards).toHaveLength(1);

    for (const { pid } of guards) process.kill(pid, 'SIGKILL');

    expect(await run.end()).toBe(1);
    expect(await running()).toEqual([]);
    expect(run.stderr).toContain('the process that ends the command with nodepool was killed');
  });

  it('stops and continues with its command under job control, and the command reads the terminal', async () => {
    const config = join(get().cloud.dir, 'nodepool-run.yaml');
    const log = join(get().cloud.dir, 'log');
    await writeFile(config, JSON.stringify({ 'zookeeper-servers': get().zookeeper.servers }));
    await writeFile(log, '');
    const lines = async () => (await readFile(log, 'utf8')).split('\n').filter(Boolean);
    const script = `trap 'echo INT >> ${log}; exit 70' INT; echo $$ >> ${log}; while read -r l; do echo "$l" >> ${log}; done`;
    const file = join(get().cloud.dir, 'command.sh');
    await writeFile(file, script);
    const shell = NodepoolProcess.startShellInTerminal();
    onTestFinished(() => shell.kill());

    shell.type(`${process.execPath} ${NODEPOOL_PROGRAM} -c ${config} run small -- sh ${file}; echo status=$?\n`);
    await expect.poll(lines, { timeout: SOON_MS, interval: 20 }).toHaveLength(1);
    const pid = Number((await lines())[0]);
    const state = async () => (await processes()).find((entry) => entry.pid === pid)?.state[0];
    shell.type('typed\n');
    await expect.poll(lines, { timeout: SOON_MS, interval: 20 }).toEqual([String(pid), 'typed']);
    shell.type('\x1a');
    await expect.poll(state, { timeout: SOON_MS, interval: 20 }).toBe('T');
    shell.type('fg\n');
    await expect.poll(state, { timeout: SOON_MS, interval: 20 }).toBe('S');
    shell.type('again\n');
    await expect.poll(lines, { timeout: SOON_MS, interval: 20 }).toEqual([String(pid), 'typed', 'again']);
    shell.type('\x03');

    await expect.poll(lines, { timeout: SOON_MS, interval: 20 }).toEqual([String(pid), 'typed', 'again', 'INT']);
    await expect.poll(state, { timeout: SOON_MS, interval: 20 }).toBeUndefined();
    shell.type('exit\n');
    await shell.end();
  });
});
