import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isProcessRunning } from '@nodepool/core/config';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const CONFIG = fileURLToPath(new URL('../nodepool.yaml', import.meta.url));

describe('npm start', () => {
  let directory: string;
  let stateDir: string;
  const started: { child: ChildProcess; ended: Promise<unknown> }[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nodepool-quickstart-'));
    stateDir = join(directory, 'state');
  });
  afterEach(async () => {
    for (const { child, ended } of started.splice(0)) {
      child.kill('SIGTERM');
      await ended;
    }
    await rm(directory, { recursive: true });
  });

  function start(...args: string[]) {
    const child = spawn(process.execPath, [MAIN, '--state-dir', stateDir, ...args]);
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    child.stderr.on('data', (data: Buffer) => (output += data.toString()));
    const ended = once(child, 'close').then(([status]) => ({ status: status as number | null, output }));
    started.push({ child, ended });
    const seen = async (text: string) => {
      while (!output.includes(text)) {
        if (child.exitCode !== null) throw new Error(`ended without saying "${text}":\n${output}`);
        await Promise.race([once(child.stdout, 'data'), ended]);
      }
    };
    return { child, ended, seen };
  }

  async function whenEnded(pid: number): Promise<void> {
    while (isProcessRunning(pid)) await delay(50);
  }

  /** Whether a server listens. */
  function answers(where: string | { readonly port: number }): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = typeof where === 'string' ? connect(where) : connect(where.port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  }
  const cloudAnswers = () => answers(join(stateDir, 'cloud', 'socket'));

  async function launcherPid(): Promise<number> {
    const info = JSON.parse(await readFile(join(stateDir, 'embedded-zookeeper.json'), 'utf8')) as { pid: number };
    return info.pid;
  }

  it('serves one request from beginning to end, and lets the cloud grow and shrink', async () => {
    const { status, output } = await start('--once').ended;

    expect(status, output).toBe(0);
    expect(output).toContain('job 1: done: its machine is free again');
    expect(output.match(/job [2-4]: logged in to \S+, host key verified: hello from np/g)).toHaveLength(3);
    expect(output.match(/cloud: machine \d+ takes 2 jobs at a time/g)).toHaveLength(2);
    expect(output.match(/cloud: machine \d+ is deleted/g)).toHaveLength(2);
    expect(output).toContain('the cloud is empty again');
    expect(output.match(/image build [0-9a-f]{8} is uploaded/g)?.length).toBeGreaterThan(1);
    expect(await cloudAnswers()).toBe(false);
  });

  it('serves given labels, twice on the same state', async () => {
    const first = await start('--once', 'small').ended;
    const second = await start('--once', 'large', 'small').ended;

    expect(first).toMatchObject({ status: 0, output: expect.stringContaining('host key verified') as string });
    expect(second).toMatchObject({
      status: 0,
      output: expect.stringContaining('host key verified') as string,
    });
    expect(second.output).toContain('job 1: asks for "large" and "small"');
    expect(second.output).toContain('job 1: done: its machines are free again');
  });

  it('uses other ports than those that are taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const file = join(directory, 'nodepool.yaml');
    await writeFile(file, (await readFile(CONFIG, 'utf8')).replace('22001', String(port)));

    const { status, output } = await start('--once', '-c', file, 'small').ended;
    other.close();

    expect(output).toContain(`port ${port} is taken by another program`);
    expect(status).toBe(0);
  });

  it('stops everything it started when told to, in the middle of a request', async () => {
    const { child, ended, seen } = start();
    await seen('job 1: got it');
    const launcher = await launcherPid();

    child.kill('SIGINT');
    const { status, output } = await ended;

    expect(output).toContain('everything that npm start has started has ended');
    expect(status).toBe(0);
    expect(output).toContain('1. Use your own machines:        npx nodepool init');
    expect(isProcessRunning(launcher)).toBe(false);
    expect(await cloudAnswers()).toBe(false);
  });

  it('takes everything with it when it is killed', async () => {
    const { child, ended, seen } = start('slot');
    await seen('takes 2 jobs at a time');
    const launcher = await launcherPid();

    child.kill('SIGKILL');
    const { output } = await ended;
    await whenEnded(launcher);

    while (await cloudAnswers()) await delay(50);
    const port = /SSH servers on 127\.0\.0\.1, ports (\d+)/.exec(output)?.[1] ?? expect.fail(output);
    while (await answers({ port: Number(port) })) await delay(50);
  });

  it('refuses to run twice on one state directory', async () => {
    const running = start();
    await running.seen('Nodepool is ready');

    const { status, output } = await start('--once').ended;
    running.child.kill('SIGTERM');
    await running.ended;

    expect(status).toBe(1);
    expect(output).toContain('already runs a launcher');
  });
});
