// `npm start -- --incus` with a real LXD.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Lxd, makeTinyImage } from '@nodepool/incus';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../../quickstart/dist/main.js', import.meta.url));
/** Moments of a run, by what it says: from the project that it makes to the deletion of the last machine. */
const MOMENTS = [
  'containers in the project',
  'Nodepool is ready',
  'is uploaded',
  'asks for "slot"',
  'is ready after',
  'logged in to root@',
  'all jobs are done',
];
const PAUSE_MS = 200;

let lxd: Lxd;
let dir: string;
let theirs: string;

beforeAll(async () => {
  await ensureDebianPackages(['busybox-static', 'dropbear-bin']);
  lxd = await Lxd.start();
  dir = await mkdtemp(join(tmpdir(), 'np-quick-'));
  const image = await makeTinyImage('ssh-ed25519 AAAA');
  await lxd.importImage(image, 'theirs');
  await image.remove();
  await lxd.lxc(['launch', 'theirs', 'theirs']);
  await lxd.lxc(['profile', 'create', 'theirs']);
  await lxd.lxc(['project', 'create', 'theirs', '-c', 'features.images=false', '-c', 'features.profiles=false']);
  await lxd.lxc(['launch', 'theirs', 'other', '--project=theirs']);
  theirs = await everything();
}, 300_000);
afterEach(async () => expect(await everything()).toBe(theirs), 60_000);
afterAll(async () => {
  await lxd.lxc(['delete', '--force', 'other', '--project=theirs']);
  await lxd.stop();
  await rm(dir, { recursive: true });
}, 120_000);

/** Whether a line is not of a network that only exists outside of the daemon. */
const isManaged = (line: string): boolean => !/^[^,]+,[a-z]+,NO,/.test(line);

/** All that there is in the daemon, with the state of instances. */
async function everything(): Promise<string> {
  const lists = [
    ['project', 'list'],
    ['list', '--all-projects', '--columns=ensl'],
    ...['image', 'profile', 'network'].map((kind) => [kind, 'list']),
    ['storage', 'volume', 'list', 'default', '--all-projects'],
    ['profile', 'show', 'default'],
  ];
  const texts = await Promise.all(
    lists.map((args) => lxd.lxc([...args, ...(args.includes('show') ? [] : ['--format=csv'])])),
  );
  // it also lists interfaces of this computer, which other programs make and delete
  return texts.map((text) => text.split('\n').filter(isManaged).sort().join('\n')).join('\n');
}

/** A run of the quick start, and what it has said. */
class Run {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  output = '';

  constructor() {
    const { INCUS_DIR: _, INCUS_SOCKET: _1, LXD_SOCKET: _2, ...env } = process.env;
    const args = [MAIN, '--once', '--incus', '--state-dir', join(dir, 'state')];
    this.#child = spawn(process.execPath, args, { env: { ...env, LXD_DIR: lxd.dir } });
    this.#ended = once(this.#child, 'close');
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (text: Buffer) => (this.output += text.toString()));
  }

  /** Waits until it says something. */
  async says(text: string): Promise<void> {
    while (!this.output.includes(text)) {
      if (this.#child.exitCode !== null) throw new Error(`it does not say "${text}":\n${this.output}`);
      await pause(10);
    }
  }

  /** Sends a signal, and waits for the end. */
  async end(signal: 'SIGINT' | 'SIGKILL'): Promise<number | null> {
    this.#child.kill(signal);
    return this.toEnd();
  }

  /** @returns the status */
  async toEnd(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }
}

/** A run, once the launcher of the killed one before has ended, as it does by itself. */
async function runAgain(): Promise<Run> {
  for (;;) {
    const run = new Run();
    await Promise.race([run.toEnd(), run.says(MOMENTS[0] ?? '').catch(() => undefined)]);
    if (!run.output.includes('already runs a launcher')) return run;
    await pause(PAUSE_MS);
  }
}

it('lends containers in place of machines of the simulated cloud, and leaves nothing', async () => {
  const run = new Run();
  const status = await run.toEnd();

  console.log(run.output);
  expect(status, run.output).toBe(0);
  expect(run.output.match(/job [2-4]: logged in to root@10\.\S+, host key verified: hello from root/g)).toHaveLength(3);
  expect(run.output.match(/cloud: machine \d+ is deleted/g)).toHaveLength(2);
  expect(run.output).toContain('the cloud is empty again');
}, 300_000);

it.each(MOMENTS)(
  'leaves nothing after Ctrl-C when it says "%s"',
  async (moment) => {
    const run = new Run();
    await run.says(moment);

    expect(await run.end('SIGINT'), run.output).toBe(0);
    expect(run.output).toContain('everything that npm start has started has ended');
  },
  120_000,
);

it('removes what runs have left that were killed', async () => {
  const left = [];
  for (const moment of MOMENTS) {
    const run = await runAgain();
    await run.says(moment);
    await run.end('SIGKILL');
    left.push((await everything()).includes('nodepool-quickstart-'));
  }

  const run = await runAgain();
  const status = await run.toEnd();

  // the first moment is before it makes its project
  expect(left.slice(1)).toEqual(MOMENTS.slice(1).map(() => true));
  expect(status, run.output).toBe(0);
  expect(run.output).toContain('the cloud is empty again');
  expect((await readdir(join(dir, 'state', 'incus'))).sort()).toEqual(['build-logs', 'images', 'rootfs.tar']);
}, 600_000);

it('says what is missing in the default profile, and changes nothing', async () => {
  await lxd.lxc(['profile', 'device', 'remove', 'default', 'eth0']);
  theirs = await everything();

  const run = new Run();

  expect(await run.toEnd()).toBe(1);
  expect(run.output).toMatch(/the default profile of lxd 5\.\S+ has no network: "lxd init --auto" makes/);
}, 60_000);
