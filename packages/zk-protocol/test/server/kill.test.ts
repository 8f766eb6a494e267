import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { compileServer } from './compiled-server.js';
import type { Message } from './decode.js';
import { Random } from './random.js';
import { RawClient, type RawRequest, type SessionCredentials } from './raw-client.js';
import { create, exists, getEphemerals } from './raw-requests.js';

const ROUNDS = 8;
const IN_FLIGHT = 64;

describe('embedded server killed under load', () => {
  let directory: string;
  let program: string;
  let child: ChildProcess | undefined;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nodepool-kill-'));
    program = await compileServer(join(directory, 'program'));
  });

  afterAll(async () => {
    child?.kill('SIGKILL');
    await rm(directory, { recursive: true });
  });

  async function start(): Promise<number> {
    child = spawn(process.execPath, [program, join(directory, 'data'), '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const { stdout } = child;
    if (stdout === null) throw new Error('the server has no output');
    const [line] = (await once(stdout, 'data')) as [Buffer];
    return Number(line.toString());
  }

  async function kill(): Promise<void> {
    if (child === undefined) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  it('has everything it acknowledged, and every session with its ephemerals can be attached again', async () => {
    const random = new Random(1);
    const acknowledged = new Set<string>();
    let session: SessionCredentials | undefined;
    let lastZxidSeen = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const port = await start();
      const client = await RawClient.open(port, { timeoutMs: 60_000, lastZxidSeen, ...(session && { session }) });
      expect(client.session.id).not.toBe(0n);
      if (session) expect(client.session.id).toBe(session.id);
      session = client.session;
      await checkPresent(client, acknowledged);

      const load = writeUntilClosed(client, round, acknowledged);
      const enough = acknowledged.size + 150 + random.below(400);
      await vi.waitUntil(() => acknowledged.size >= enough, { interval: 1, timeout: 50_000 });
      await kill();
      lastZxidSeen = Math.max(lastZxidSeen, await load);
    }

    const client = await RawClient.open(await start(), {
      timeoutMs: 60_000,
      lastZxidSeen,
      ...(session && { session }),
    });
    await checkPresent(client, acknowledged);
    await client.call(getEphemerals('/'));
    const ephemerals = new Set(client.takeMessages()[0]?.body.names as string[]);
    await kill();

    expect(acknowledged.size).toBeGreaterThan(1000);
    for (const path of acknowledged) {
      if (path.includes('e')) expect(ephemerals).toContain(path);
    }
  });
});

/** Creates znodes as fast as it can; every one that is acknowledged is noted. @returns the last zxid seen */
async function writeUntilClosed(client: RawClient, round: number, acknowledged: Set<string>): Promise<number> {
  const sent = new Map<number, string>();
  let lastZxid = 0;
  for (let number = 0; !client.isClosed;) {
    const requests: RawRequest[] = [];
    const paths: string[] = [];
    for (let index = 0; index < IN_FLIGHT; index++) {
      const isEphemeral = number % 3 === 0;
      paths.push(`/${round}-${number++}${isEphemeral ? 'e' : ''}`);
      requests.push(create(paths.at(-1) ?? '', isEphemeral ? 1 : 0, 100));
    }
    const xids = client.send(...requests);
    for (const [index, xid] of xids.entries()) sent.set(xid, paths[index] ?? '');
    await client.until(() => client.isClosed || client.pendingReplies === 0);
    for (const message of client.takeMessages()) {
      lastZxid = Math.max(lastZxid, message.zxid);
      note(message, sent, acknowledged);
    }
  }
  return lastZxid;
}

function note({ xid, error }: Message, sent: Map<number, string>, acknowledged: Set<string>): void {
  const path = sent.get(xid ?? 0);
  if (error === 0 && path !== undefined) acknowledged.add(path);
}

async function checkPresent(client: RawClient, paths: ReadonlySet<string>): Promise<void> {
  await client.call(...[...paths].map((path) => exists(path)));
  const missing = client.takeMessages().filter(({ error }) => error !== 0);
  expect(missing).toEqual([]);
}
