import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { isProcessRunning } from '@nodepool/core/config';
import { systemClock } from '@nodepool/zk-protocol';
import { connectToServer } from '../src/index.js';
import type { CloudClient, InstanceOrder } from '../src/index.js';
import { makeTempDir } from './temp-dir.js';

// These tests run the program as it is installed, so it must have been built.
const program = fileURLToPath(new URL('../bin/nodepool-fake-cloud.js', import.meta.url));
const launcher = fileURLToPath(new URL('fixtures/launcher.mjs', import.meta.url));
const order: InstanceOrder = { name: 'np1', minRam: 2048, image: 'any', az: null, metadata: { nodepool_node_id: '1' } };
const run = promisify(execFile);

const pidOf = (dir: string) => Number(readFileSync(join(dir, 'server.pid'), 'utf8'));
const control = (dir: string, ...args: string[]) => run(process.execPath, [program, '--dir', dir, ...args]);
const idsOf = async (client: CloudClient) =>
  (await client.call('find', null, AbortSignal.timeout(20_000))).map(({ id }) => id).sort();

function makeCloudDir(): string {
  const dir = makeTempDir();
  onTestFinished(() => {
    try {
      process.kill(pidOf(dir), 'SIGKILL');
    } catch {
      // It has ended already.
    }
  });
  return dir;
}

async function startClient(dir: string, warn: () => void = () => undefined): Promise<CloudClient> {
  const config = { cloud: 'fake', cloudDir: dir, listen: undefined };
  const client = connectToServer(config, { clock: systemClock, logger: { ...silentLogger, warn } });
  onTestFinished(() => client.close());
  await client.start(AbortSignal.timeout(20_000));
  return client;
}

describe('the cloud as a process', () => {
  it('is started by the first client, outlives it when that is killed, and keeps the instances', async () => {
    const dir = makeCloudDir();
    const child = spawn(process.execPath, [launcher, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const { value: id } = (await lines.next()) as { value: string };

    child.kill('SIGKILL');
    const client = await startClient(dir);

    expect(id).toMatch(/^i-/);
    expect(await idsOf(client)).toEqual([id]);
  });

  it('comes back with everything after it was killed itself', async () => {
    const dir = makeCloudDir();
    let noteLoss = () => {};
    const lost = new Promise<void>((resolve) => (noteLoss = resolve));
    const client = await startClient(dir, () => noteLoss());
    const made = await Promise.all(Array.from({ length: 50 }, () => client.call('create', order)));
    await Promise.all(made.slice(0, 10).map(({ id }) => client.call('remove', id)));
    const killed = pidOf(dir);

    process.kill(killed, 'SIGKILL');
    await lost; // it connects anew
    await client.start(AbortSignal.timeout(20_000));

    expect(pidOf(dir)).not.toBe(killed);
    expect(await idsOf(client)).toEqual(
      made
        .slice(10)
        .map(({ id }) => id)
        .sort(),
    );
  });

  it('runs once, however many start it', async () => {
    const dir = makeCloudDir();

    const clients = await Promise.all(Array.from({ length: 4 }, () => startClient(dir)));
    const [first] = clients;
    const id = (await first?.call('create', order))?.id;

    for (const client of clients) expect(await idsOf(client)).toEqual([id]);
    expect(isProcessRunning(pidOf(dir))).toBe(true);
    // Each of the four has started a server; the directory may only go when three of them have given up.
    const messages = () => readFileSync(join(dir, 'server.log'), 'utf8').trim().split('\n');
    await vi.waitFor(() => expect(messages().length).toBeGreaterThanOrEqual(4), 50_000);
    expect(messages().filter((message) => message.startsWith('serving'))).toHaveLength(1);
  });

  it('is looked at and changed from the command line', async () => {
    const dir = makeCloudDir();
    const client = await startClient(dir);
    const { id } = await client.call('create', order);

    await control(dir, 'set', 'failures.quota', '1');
    await control(dir, 'set', 'create-time', '{"uniform": [1, 2]}');
    const { stdout: leaked } = await control(dir, 'leak', 'nodepool_provider_name=p', 'nodepool_node_id=42');
    const { stdout: list } = await control(dir, 'list');
    await control(dir, 'kill', id);
    await control(dir, 'reset', 'create-time');
    const { stdout: shown } = await control(dir, 'show');

    expect(JSON.parse(shown)).toMatchObject({
      settings: { failures: { quota: 1 } },
      usage: { instances: 1 },
      byStatus: { active: 1 },
    });
    expect(list.trim().split('\n')).toHaveLength(2);
    expect(await idsOf(client)).toEqual([leaked.trim()]);
    await expect(client.call('create', order)).rejects.toThrow('quota exceeded');
    await expect(control(dir, 'kill', id)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(id) as string,
    });
    await expect(control(dir, 'set', 'nonsense', '1')).rejects.toMatchObject({ code: 1 });
    await expect(control(dir, 'nonsense')).rejects.toMatchObject({ code: 2 });
  });

  it('says so when there is none to look at', async () => {
    await expect(control(makeTempDir(), 'show')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no server of a fake cloud answers') as string,
    });
  });
});
