import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/index.js';
import { closing, eventually, recordStates } from '../support/clients.js';

describe('an ensemble', () => {
  let zooKeeper: ZooKeeperHandle;

  beforeAll(async () => {
    zooKeeper = await startZooKeeper({ ensemble: true });
  });
  afterAll(() => zooKeeper.stop());

  it('keeps session, ephemerals and watches when the leader is killed', async () => {
    const client = closing(await connect({ servers: zooKeeper.connectString, sessionTimeoutMs: 60_000 }));
    const states = recordStates(client);
    const seen: string[] = [];
    await client.create('/mine', '', { ephemeral: true });
    await client.addWatch('/', 'persistent-recursive', ({ path }) => seen.push(path));
    const { sessionId } = client;
    const leader = await zooKeeper.leader();

    await zooKeeper.kill(leader);
    await eventually(() => client.create('/after').then(() => undefined));

    expect(client.sessionId).toBe(sessionId);
    expect((await client.exists('/mine'))?.ephemeralOwner).toBe(sessionId);
    expect(seen).toContain('/after');
    expect(states).not.toContain('LOST');
  });
});
