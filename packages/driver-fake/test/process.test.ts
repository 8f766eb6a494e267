import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { isProcessRunning } from '@nodepool/core/config';
import { systemClock } from '@nodepool/zk-protocol';
import { connectToServer } from '../src/index.js';
import type { CloudClient, InstanceOrder } from '../src/index.js';
import { makeTempDir } from './temp-dir.js';

// These tests run the installed program, so build it first.
const launcher = fileURLToPath(new URL('fixtures/launcher.mjs', import.meta.url));
const order: InstanceOrder = { name: 'np1', minRam: 2048, image: 'any', az: null, metadata: { nodepool_node_id: '1' } };

const pidOf = (dir: string) => Number(readFileSync(join(dir, 'server.pid'), 'utf8'));
const idsOf = async (client: CloudClient) =>
  (await client.call('find', null, AbortSignal.timeout(20_000))).map(({ id }) => id).sort();

function makeCloudDir(): string {
  const dir = makeTempDir();
  onTestFinished(() => {
    try {
      process.kill(pidOf(dir), 'SIGKILL');
    } catch {
      // Already ended.
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
  it('is started by the first client, outlives it, and keeps the instances', async () => {
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

  it('is restarted with all instances after it was killed', async () => {
    const dir = makeCloudDir();
    let noteLoss = () => {};
    const lost = new Promise<void>((resolve) => (noteLoss = resolve));
    const client = await startClient(dir, () => noteLoss());
    const made = await Promise.all(Array.from({ length: 50 }, () => client.call('create', order)));
    await Promise.all(made.slice(0, 10).map(({ id }) => client.call('remove', id)));
    const killed = pidOf(dir);

    process.kill(killed, 'SIGKILL');
    await lost; // the client reconnects
    await client.start(AbortSignal.timeout(20_000));

    expect(pidOf(dir)).not.toBe(killed);
    expect(await idsOf(client)).toEqual(
      made
        .slice(10)
        .map(({ id }) => id)
        .sort(),
    );
  });

  it('runs once, even if several clients start it', async () => {
    const dir = makeCloudDir();

    const clients = await Promise.all(Array.from({ length: 4 }, () => startClient(dir)));
    const [first] = clients;
    const id = (await first?.call('create', order))?.id;

    for (const client of clients) expect(await idsOf(client)).toEqual([id]);
    expect(isProcessRunning(pidOf(dir))).toBe(true);
    // Each of the four started a server. Keep the directory until three of them have given up.
    const messages = () => readFileSync(join(dir, 'server.log'), 'utf8').trim().split('\n');
    await vi.waitFor(() => expect(messages().length).toBeGreaterThanOrEqual(4), 50_000);
    expect(messages().filter((message) => message.startsWith('serving'))).toHaveLength(1);
  });
});
