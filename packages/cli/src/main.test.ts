import { patientClock } from '@nodepool/zk-protocol';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import { mkdir, mkdtemp, open, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { nodepool as runHere, PROGRAM } from '../test/program.js';

/** Each has a line of output: more than a pipe holds, so that the program has to wait for its reader. */
const MANY_POOLS = 5_000;

const OPEN_HANDLES = `import { createServer } from 'node:net';
setInterval(() => {}, 1_000);
createServer().listen(0, '127.0.0.1');
`;
const DRIVER = `export const driver = { name: 'sky', apiVersion: 1, capabilities: {},
  schema: { properties: { pools: { type: 'array' } } },
  getProviderConfig(entry, context) {
    for (const { name } of entry.pools) context.problem([], 'the pool ' + name + ' is small', 'warning');
    return { name: entry.name, driverName: 'sky', entry, maxConcurrency: -1, pools: new Map(), managesImages: false };
  },
  getProvider() {} };
`;

async function installDriver(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nodepool-exit-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'node_modules', 'nodepool-driver-sky');
  await mkdir(path, { recursive: true });
  const nodepool = { driver: 'sky', apiVersion: 1 };
  const manifest = { name: 'nodepool-driver-sky', version: '1.2.3', type: 'module', exports: './index.js', nodepool };
  await writeFile(join(path, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(path, 'index.js'), code);
  const pools = Array.from({ length: MANY_POOLS }, (_, i) => ({ name: `pool-${i}` }));
  const config = { providers: [{ name: 'cloud', driver: 'sky', pools }] };
  await writeFile(join(folder, 'nodepool.yaml'), JSON.stringify(config));
  return join(folder, 'nodepool.yaml');
}

/** Starts `nodepool` in a process of its own. */
function start(...argv: string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Starts it with a hook that writes the URL of each module it loads to standard error. */
const SHOW_MODULES = `data:text/javascript,${encodeURIComponent(`import { register } from 'node:module';
register('data:text/javascript,' + encodeURIComponent(\`import { writeSync } from 'node:fs';
export async function load(url, context, next) { writeSync(2, url + '\\\\n'); return next(url, context); }\`));`)}`;

/** What it printed, and its exit status. */
async function nodepool(...argv: string[]) {
  const child = start(...argv);
  const ended = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { status: child.exitCode, stdout, stderr };
}

describe('the program', () => {
  it('ends although a driver keeps a timer and a socket open, and everything it printed arrives', async () => {
    const config = await installDriver(`${OPEN_HANDLES}${DRIVER}`);

    const { status, stdout, stderr } = await nodepool('-c', config, 'config-validate');

    expect(stderr.match(/the pool pool-/g)).toHaveLength(MANY_POOLS);
    expect(stdout).toContain('Configuration is valid');
    expect(status).toBe(0);
  });

  it('ends with status 1 when a driver that keeps a timer and a socket open cannot be loaded', async () => {
    const config = await installDriver(`${OPEN_HANDLES}throw new Error('no weather today');`);

    const { status, stderr } = await nodepool('-c', config, 'config-validate');

    expect(stderr).toContain('no weather today');
    expect(status).toBe(1);
  });

  it('ends when the reader of its output has seen enough', async () => {
    const config = await installDriver(`${OPEN_HANDLES}${DRIVER}`);
    const child = start('-c', config, 'config-validate', '--json');
    const ended = once(child, 'exit');

    await once(child.stdout, 'readable');
    child.stdout.destroy();

    expect(await ended).toEqual([0, null]);
  });

  it.each([
    ['once', ['--version']],
    ['in many parts', ['-c', '', 'config-validate', '--json']],
  ])('ends with status 1, and says why, when its output cannot be written, %s', async (_how, argv) => {
    const config = await installDriver(`${OPEN_HANDLES}${DRIVER}`);
    const full = await open('/dev/full', 'w');
    onTestFinished(() => full.close());
    const child = spawn(process.execPath, [PROGRAM, ...argv.map((word) => word || config)], {
      stdio: ['ignore', full.fd, 'pipe'],
    });

    const [stderr] = await Promise.all([text(child.stderr as Readable), once(child, 'exit')]);

    expect(stderr).toBe('nodepool: Cannot write to standard output: ENOSPC: no space left on device, write\n');
    expect(child.exitCode).toBe(1);
  });

  it('does its work where its errors cannot be written', async () => {
    const config = await installDriver(`${OPEN_HANDLES}${DRIVER}`);
    const full = await open('/dev/full', 'w');
    onTestFinished(() => full.close());
    const child = spawn(process.execPath, [PROGRAM, '-c', config, 'config-validate'], {
      stdio: ['ignore', 'pipe', full.fd],
    });

    const [stdout] = await Promise.all([text(child.stdout as Readable), once(child, 'exit')]);

    expect(stdout).toContain('Configuration is valid');
    expect(child.exitCode).toBe(0);
  });

  it.each([
    ['-c', 'list'],
    ['-c', 'config-validate'],
    ['-c', 'explain', '--label', 'small'],
    ['-s', 'list'],
    ['-s', 'config-validate'],
  ])('says that the file of %s does not exist, and ends with status 1: %s', async (option, ...command) => {
    const config = await installDriver(DRIVER);
    const missing = join(dirname(config), 'missing.yaml');
    const files = option === '-c' ? ['-c', missing] : ['-c', config, '-s', missing];

    const { status, stderr } = await nodepool(...files, ...command);

    expect(stderr).toContain(`${missing}: cannot be read: no such file`);
    expect(status).toBe(1);
  });

  it('waits a moment for a file that is being replaced', async () => {
    const config = await installDriver(DRIVER);
    await rename(config, `${config}.new`);
    const setTimer = patientClock.setTimer.bind(patientClock);
    const pause = vi.spyOn(patientClock, 'setTimer').mockImplementationOnce((ms, fn) => {
      renameSync(`${config}.new`, config);
      return setTimer(ms, fn);
    });
    onTestFinished(() => pause.mockRestore());

    const { status } = await runHere('-c', config, 'config-validate');

    expect(pause).toHaveBeenCalledOnce();
    expect(status).toBe(0);
  });
});

it('--help loads no client of ZooKeeper, which takes longer than everything else', async () => {
  const child = spawn(process.execPath, ['--import', SHOW_MODULES, PROGRAM, '--help'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, loaded] = await Promise.all([text(child.stdout), text(child.stderr)]);

  expect(stdout).toContain('Usage: nodepool');
  expect(loaded).toContain('/cli/dist/main.js');
  expect(loaded).not.toMatch(/node-zookeeper-client|zk-protocol\/dist\/client/);
});
