import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { startEmbeddedServer } from './index.js';
import { OpCode } from './model/constants.js';
import type { RunningServer } from './start.js';
import { onTestEnd } from '../../test/support/clients.js';
import { ManualClock } from '../../test/support/manual-clock.js';
import { RawClient, type SessionCredentials } from '../../test/server/raw-client.js';
import { bare, create, exists, setData } from '../../test/server/raw-requests.js';

const LOGIN = 'nodepool:secret';
const MAX_STRANGERS = 100;

describe('a client that has not logged in', () => {
  let dataDir: string;
  let clock: ManualClock;
  let server: RunningServer;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'nodepool-stranger-'));
    onTestEnd(() => rm(dataDir, { recursive: true }));
    clock = new ManualClock();
    await start();
  });

  async function start(): Promise<void> {
    const started = (await startEmbeddedServer({ dataDir, clock, login: LOGIN })) as RunningServer;
    onTestEnd(() => started.close());
    server = started;
  }

  async function open(session?: SessionCredentials): Promise<RawClient> {
    const client = await RawClient.open(server.port, { timeoutMs: 10_000, ...(session && { session }) });
    onTestEnd(() => client.drop());
    return client;
  }

  async function member(): Promise<RawClient> {
    const client = await open();
    await client.addAuth('digest', LOGIN);
    client.takeMessages();
    return client;
  }

  it('has no session and writes nothing', async () => {
    const before = server.model.lastZxid;
    const [one, two] = [await open(), await open()];
    await one.call(create('/mine', 1), bare(OpCode.ping));
    await two.call(bare(OpCode.closeSession));

    expect(one.takeMessages()).toMatchObject([{ error: -102 }, { error: 0 }]);
    expect(two.takeMessages()).toMatchObject([{ error: 0 }]);
    expect([one.session.id, two.session.id]).not.toContain(0n);
    expect(server.model.sessions.size).toBe(0);
    expect(server.model.lastZxid).toBe(before);
  });

  it('opens its offered session with the login, and a restart keeps it', async () => {
    const [other, client] = [await open(), await open()];
    await client.addAuth('digest', LOGIN);
    await client.call(create('/mine', 1));
    await server.close();
    await start();

    const again = await open(client.session);
    await again.addAuth('digest', LOGIN);
    await again.call(exists('/mine'));
    const late = await open(other.session);

    expect(again.takeMessages().at(-1)).toMatchObject({
      error: 0,
      body: { stat: { ephemeralOwner: client.session.id } },
    });
    expect(late.session.id).toBe(0n);
    expect(server.model.sessions.size).toBe(1);
  });

  it('cannot send a large packet before its login, but right after it', async () => {
    const [large, early] = [await open(), await open()];
    const login = early.addAuth('digest', LOGIN);
    early.send(create('/large', 0, 900_000));
    large.send(setData('/large', 20_000));
    await login;

    await large.until(() => large.isClosed);
    await early.until(() => early.pendingReplies === 0);

    expect(early.takeMessages()).toMatchObject([{ error: 0 }, { error: 0 }]);
  });

  it('has to log in within seconds', async () => {
    const [stranger, known] = [await open(), await member()];

    clock.advance(4_999);
    const before = stranger.isClosed;
    clock.advance(1);
    await stranger.until(() => stranger.isClosed);
    await known.call(exists('/'));

    expect(before).toBe(false);
    expect(known.takeMessages()).toMatchObject([{ error: 0 }]);
  });

  it('is disconnected when there are many like it, and does not keep members out', async () => {
    const known = await member();
    const strangers: RawClient[] = [];
    for (let index = 0; index < MAX_STRANGERS + 20; index++) strangers.push(await open());
    const next = await member();
    await strangers[0]?.until(() => strangers[0]?.isClosed === true);
    await Promise.all([known.call(exists('/')), next.call(exists('/'))]);

    expect(strangers.filter(({ isClosed }) => !isClosed).length).toBeLessThanOrEqual(MAX_STRANGERS);
    expect([...known.takeMessages(), ...next.takeMessages()]).toMatchObject([{ error: 0 }, { error: 0 }]);
  });
});
