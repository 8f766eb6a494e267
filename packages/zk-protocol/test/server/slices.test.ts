import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { startEmbeddedServer } from '../../src/server/index.js';
import { OpCode } from '../../src/server/model/constants.js';
import type { RunningServer } from '../../src/server/start.js';
import { onTestEnd } from '../support/clients.js';
import { RawClient, type RawRequest } from './raw-client.js';
import { bare, composed, create, exists } from './raw-requests.js';

const EPHEMERALS = 100_000;
const PER_MULTI = 10_000;
const WATCHES = 60_000;

describe('work that takes long', () => {
  let dataDir: string;
  let server: RunningServer;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'nodepool-slices-'));
    onTestEnd(() => rm(dataDir, { recursive: true }));
    await start();
  });

  async function start(): Promise<void> {
    const started = (await startEmbeddedServer({ dataDir, fsync: false })) as RunningServer;
    onTestEnd(() => started.close());
    server = started;
  }

  async function open(): Promise<RawClient> {
    const client = await RawClient.open(server.port, { timeoutMs: 60_000 });
    onTestEnd(() => client.drop());
    return client;
  }

  /** A session with many ephemerals. */
  async function owner(): Promise<RawClient> {
    const client = await open();
    for (let from = 0; from < EPHEMERALS; from += PER_MULTI) {
      const parts = Array.from({ length: PER_MULTI }, (_, index) => create(`/e${from + index}`, 1));
      await client.call(composed(OpCode.multi, parts));
    }
    client.takeMessages();
    return client;
  }

  const ephemerals = () => server.model.tree.ephemeralCount;

  /** Numbers of ephemerals at the turns of the event loop, until they are gone. */
  async function countsUntilGone(): Promise<Set<number>> {
    const counts = new Set<number>();
    while (ephemerals() > 0) {
      counts.add(ephemerals());
      await nextTurn();
    }
    return counts;
  }

  it('lets the event loop turn, and shows others all of it or nothing', async () => {
    const [client, other] = [await owner(), await open()];
    const pair = [exists('/e0'), exists(`/e${EPHEMERALS - 1}`)];

    client.send(bare(OpCode.closeSession));
    other.send(...Array.from({ length: 200 }, () => pair).flat());
    const counts = await countsUntilGone();
    await other.call(...pair);
    await client.until(() => client.isClosed);

    const seen = other.takeMessages().map(({ error }) => error);
    const halves = seen.filter((error, index) => index % 2 === 0 && error !== 0 && seen[index + 1] === 0);
    expect([...counts].filter((count) => count < EPHEMERALS).length).toBeGreaterThan(1);
    expect(halves).toEqual([]);
    expect(seen.slice(-2)).toEqual([-101, -101]);
    expect(client.takeMessages()).toMatchObject([{ error: 0 }]);
  });

  it('is done wholly when the server is closed in the middle of it', async () => {
    const client = await owner();
    client.send(bare(OpCode.closeSession));
    while (ephemerals() === EPHEMERALS) await nextTurn();
    const whenClosing = ephemerals();
    await server.close();
    await start();

    expect(whenClosing).toBeGreaterThan(0);
    expect(ephemerals()).toBe(0);
    expect(server.model.sessions.size).toBe(0);
  });

  it('leaves nothing behind for a client that is gone before its end', async () => {
    const [client, other] = [await open(), await open()];
    client.send(setWatches(Array.from({ length: WATCHES }, (_, index) => `/w${index}`)));
    while (server.model.watches.data.size === 0) await nextTurn();
    const begun = server.model.watches.data.size;
    client.drop();
    await other.call(exists('/', true));
    while (server.model.watches.data.size !== 1) await nextTurn();

    expect(begun).toBeLessThan(WATCHES);
    expect(other.takeMessages()).toMatchObject([{ error: 0 }]);
  });
});

function setWatches(paths: readonly string[]): RawRequest {
  return {
    type: OpCode.setWatches,
    text: 'setWatches',
    encode: (writer) => {
      writer.long(0);
      writer.int(0);
      writer.int(paths.length);
      for (const path of paths) writer.string(path);
      writer.int(0);
    },
  };
}
