import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NodepoolClient } from '@nodepool/client';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN } from '../lessee.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';
import { nodesOf, simpleSetup, type StaticSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const CLIENT = new URL('../../../packages/client/dist/index.js', import.meta.url).href;
const SCRIPT = fileURLToPath(new URL('../../../examples/ci/shell/with-node.sh', import.meta.url));
const SECURE = { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] };
const WAITS = ['sh', '-c', 'trap "exit 21" TERM; echo up; while :; do sleep 0.05; done'];

const get = useStatic({ sshd: { count: 1, keyTypes: ['ed25519'] } });
let setup: StaticSetup;
let launcher: LauncherProcess;
let directory: string;
let client: NodepoolClient;
let env: Record<string, string>;

beforeEach(async () => {
  setup = simpleSetup(nodesOf(get().sshd.hosts, 'small'));
  launcher = await get().launch(setup, { secure: SECURE });
  directory = await mkdtemp(join(tmpdir(), 'nodepool-lease-clients-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'token'), LEASE_TOKEN);
  const url = `http://127.0.0.1:${launcher.webPort}`;
  client = new NodepoolClient({ url, token: LEASE_TOKEN });
  env = { NODEPOOL_SERVER: url, NODEPOOL_TOKEN_FILE: join(directory, 'token'), TMPDIR: directory };
});

function start(...args: string[]): NodepoolProcess {
  const started = NodepoolProcess.start(args, env, directory);
  onTestFinished(() => started.kill());
  return started;
}

const stateOf = async () => (await client.list()).map(({ state }) => state);
const currentLeases = async () => (await stateOf()).filter((state) => state === 'waiting' || state === 'active');
const soon = { timeout: SOON_MS, interval: 20 };

describe.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('nodepool run with a server after %s', (signal) => {
  const status = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }[signal];

  it('at once, leases nothing', async () => {
    const run = start('run', 'small', '--', 'true');
    await run.whenSaid(/leases small/);

    run.signal(signal);

    expect(await run.end(), run.stderr).toBe(status);
    expect(await currentLeases()).toEqual([]);
  });

  it('while it waits, ends its lease', async () => {
    const other = await client.lease(['small']);
    const run = start('run', 'small', '--', 'true');
    await run.whenSaid(/waits/);

    run.signal(signal);

    expect(await run.end(), run.stderr).toBe(status);
    expect(await currentLeases()).toEqual(['active']);
    await other.release();
  });

  it('while its command runs, passes it on and returns the node; a second one ends the command', async () => {
    const script = `trap 'echo got it' INT TERM HUP; echo up; while :; do sleep 0.05; done`;
    const run = start('run', 'small', '--', 'sh', '-c', script);
    await expect.poll(() => run.stdout, soon).toContain('up');
    run.signal(signal);
    await expect.poll(() => run.stdout, soon).toContain('got it');
    await new Promise((resolve) => setTimeout(resolve, 400)); // two signals within 0.2 s are one attempt to stop

    run.signal(signal);

    expect(await run.end(), run.stderr).toBe(status);
    expect(await currentLeases()).toEqual([]);
  });
});

describe('nodepool run with a server', () => {
  it('keeps its node while the server is killed and started again', async () => {
    const run = start('run', 'small', '--', ...WAITS);
    await expect.poll(() => run.stdout, soon).toContain('up');
    const [before] = await client.list({ state: 'active' });

    const { webPort } = launcher;
    await launcher.kill();
    launcher = await get().launch(setup, { secure: SECURE, webPort });
    await expect
      .poll(async () => (await client.list({ state: 'active' })).map(({ id }) => id), soon)
      .toEqual([before?.id]);
    run.signal('SIGTERM');

    expect(await run.end(), run.stderr).toBe(21);
    await expect.poll(currentLeases, soon).toEqual([]);
  });

  it('ends its command when another ends its lease', async () => {
    const run = start('run', 'small', '--', ...WAITS);
    await expect.poll(() => run.stdout, soon).toContain('up');
    const [lease] = await client.list({ state: 'active' });

    await client.release(lease?.id ?? '');

    expect(await run.end(), run.stderr).toBe(1);
    expect(run.stderr).toContain(`the nodes are lost: Lease ${lease?.id} is lost: returned by e2e; ending the command`);
  });
});

it('the nodes of a killed process are returned when its lease expires', async () => {
  const code =
    `const { NodepoolClient } = await import('${CLIENT}');` +
    `await new NodepoolClient({ url: '${client.url}', token: '${LEASE_TOKEN}' }).lease(['small'], { ttlMs: 4000 });` +
    `console.log('leased'); setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  const { createdTime } = (await client.list({ state: 'active' }))[0] ?? { createdTime: new Date(0) };
  await expect.poll(() => Date.now() - createdTime.getTime(), { ...soon, timeout: 30_000 }).toBeGreaterThan(6_000);
  expect(await currentLeases()).toEqual(['active']);

  holder.kill('SIGKILL');

  await expect.poll(currentLeases, soon).toEqual([]);
  await get().assertClean();
});

function startScript(command: readonly string[], more: Record<string, string> = {}, shell = 'sh') {
  const options = { env: { ...process.env, ...env, ...more }, detached: true, stdio: 'pipe' as const };
  const child = spawn(shell, [SCRIPT, 'small', ...command], options);
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output.text += String(text)));
  return { child, output, ended: once(child, 'close') as Promise<[number]> };
}

describe.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('the script for a shell after %s', (signal) => {
  const status = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }[signal];

  it('ends its command, and returns the node', async () => {
    const { child, output, ended } = startScript(WAITS);
    await expect.poll(() => output.text, soon).toContain('up');

    child.kill(signal);

    expect(await ended).toEqual([status, null]);
    expect(await currentLeases()).toEqual([]);
  });

  it('while it waits, ends its lease', async () => {
    const other = await client.lease(['small']);
    const { child, ended } = startScript(['true']);
    await expect.poll(currentLeases, soon).toHaveLength(2);

    process.kill(-(child.pid ?? 0), signal); // as a terminal does, to curl as well

    expect(await ended).toEqual([status, null]);
    expect(await currentLeases()).toEqual(['active']);
    await other.release();
  });
});

it('the script for a shell ends a command that it started right before a signal', async () => {
  const pausing = join(directory, 'pausing');
  await writeFile(pausing, `trap 'sleep 0.1' DEBUG`); // before each step
  const { child, output, ended } = startScript(WAITS, { BASH_ENV: pausing }, 'bash');
  await expect.poll(() => output.text, soon).toContain('up');

  child.kill('SIGINT');

  expect(await ended).toEqual([130, null]);
  expect(await currentLeases()).toEqual([]);
});

describe('the script for a shell, when its node is lost,', () => {
  it('ends its command before the lease expires at a silent server', async () => {
    const { output, ended } = startScript(WAITS, { NODEPOOL_TTL: '24' });
    await expect.poll(() => output.text, soon).toContain('up');

    launcher.signal('SIGSTOP');
    const beganMs = performance.now();
    const [status] = await ended;
    const tookMs = performance.now() - beganMs;
    launcher.signal('SIGCONT');

    expect(status, output.text).toBe(143);
    expect(output.text).toMatch(/the node is lost: the server has not answered for 21 s\n/);
    expect(tookMs).toBeLessThan(90_000);
  });

  it('ends its command and says why, when another ends its lease', async () => {
    const { output, ended } = startScript(WAITS, { NODEPOOL_TTL: '24' });
    await expect.poll(() => output.text, soon).toContain('up');
    const [lease] = await client.list({ state: 'active' });

    await client.release(lease?.id ?? '');

    expect(await ended, output.text).toEqual([143, null]);
    expect(output.text).toContain('the node is lost: {');
    expect(output.text).toContain('is over: returned by e2e');
  });
});
