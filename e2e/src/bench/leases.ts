import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  connect,
  encodeLeaseToken,
  leaseSlotsPath,
  leaseTokenPath,
  newLeaseToken,
  signLeaseToken,
  type LeaseRights,
} from '@nodepool/zk-protocol';
import type { Finding } from './finding.js';
import type { LeaseLoadOptions } from './lease-client.js';
import { withServer } from './scenarios.js';
import { runLoad, SECURE_FILE, startLauncher, staticConfig } from './subjects.js';

const SLOTS = { a: 1_000, busy: 1 };
const NAME = 'bench';
const SECRET = 'a-secret-of-the-load';
const KEY = 'a-key-of-the-load-that-signs-its-token';
const MOST_NODES = 20_000;

/** Latency of leases at a fixed rate, and memory of many that wait with an open stream each. */
export async function measureLeases(long: boolean): Promise<Finding[]> {
  return withServer('zookeeper', async (connectString, dir) => {
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, SECURE_FILE), JSON.stringify({ 'token-keys': [KEY] }));
    const subject = await startLauncher(dir, (port) => staticConfig(connectString, SLOTS, port));
    try {
      await storeToken(connectString);
      const load: LeaseLoadOptions = {
        ...{ url: subject.url ?? '', pid: subject.pid, token: `${NAME}.${SECRET}` },
        ...{ perSecond: 200, seconds: long ? 120 : 20, waiting: 5_000, idleSeconds: long ? 60 : 20 },
      };
      return await runLoad<Finding[]>(load, () => Promise.resolve(), './lease-client.js');
    } finally {
      await subject.kill();
    }
  });
}

/** A token with a limit of nodes, as people have: each lease occupies numbers in ZooKeeper. */
async function storeToken(connectString: string): Promise<void> {
  const rights: LeaseRights = {
    ...{ owner: NAME, labels: ['*'], maxTtlMs: 86_400_000, maxNodes: MOST_NODES, tenantName: null },
    ...{ highestPriority: 200, admin: false },
  };
  const hash = createHash('sha256').update(SECRET).digest('hex');
  const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
  await zk.ensurePath(leaseSlotsPath(NAME));
  const token = newLeaseToken({ ...rights, name: NAME, hash, endTimeMs: null }, Date.now());
  await zk.create(leaseTokenPath(NAME), encodeLeaseToken(signLeaseToken(token, KEY)));
  while ((await zk.getChildren('/nodepool/nodes')).length < SLOTS.a + SLOTS.busy) await delay(50);
  await zk.close();
}
