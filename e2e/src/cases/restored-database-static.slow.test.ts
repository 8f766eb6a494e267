import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGround, type Ground } from '../harness.js';
import { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN, Lessee } from '../lessee.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { openSession } from '../session.js';
import { LAUNCHER_SESSION_S, SOON_MS } from '../soon.js';
import { ZuulClient } from '../zuul-client.js';

const SOON = { timeout: SOON_MS, interval: 50 };

let ground: Ground;
let launcher: LauncherProcess;

beforeAll(async () => {
  ground = await startGround();
});

afterAll(async () => {
  await launcher.kill();
  await ground.zk.close();
  await ground.zookeeper.stop();
  await rm(ground.dir, { recursive: true });
});

const host = { name: 'fakehost', username: 'ci', labels: 'rack', 'host-key-checking': false };

async function launch(name: string): Promise<void> {
  const secure = join(ground.dir, 'secure.yaml');
  await writeFile(secure, JSON.stringify({ 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] }));
  const config = {
    'zookeeper-servers': ground.zookeeper.servers.map(({ host, port }) => ({ host, port })),
    'zookeeper-timeout': LAUNCHER_SESSION_S,
    labels: [{ name: 'rack' }],
    providers: [{ name: 'rack', driver: 'static', pools: [{ name: 'main', nodes: [host] }] }],
  };
  launcher = await LauncherProcess.start(join(ground.dir, name), name, config, {}, ['-s', secure]);
  await launcher.whenReady();
}

async function nodepool(...args: string[]): Promise<string> {
  const command = NodepoolProcess.start([...launcher.commonOptions, ...args]);
  expect(await command.end(), command.stderr).toBe(0);
  return command.stdout;
}

async function nodes(): Promise<string[]> {
  const listed = JSON.parse(await nodepool('list', '--json')) as { id: string; state: string }[];
  return listed.map(({ id, state }) => `${id} ${state}`);
}

/** Copies the data of ZooKeeper, or puts a copy back, while its server is stopped. */
async function whileStopped(act: (data: string) => Promise<void>): Promise<void> {
  await ground.zookeeper.kill();
  await act(join(ground.zookeeper.servers[0]?.dir ?? '', 'data'));
  await ground.zookeeper.restart();
}

it('a static host that was lent after the copy is lent again only once its provider is resumed', async () => {
  const copy = join(ground.dir, 'copy');
  const lessee = new Lessee(() => [launcher.webPort]);
  await launch('first');
  await expect.poll(nodes, SOON).toEqual(['0000000000 ready']);
  await launcher.stop();
  await whileStopped((data) => cp(data, copy, { recursive: true }));
  await launch('second');
  expect(await lessee.lease(['rack'])).toMatchObject({ state: 'active', nodes: [{ external_id: 'fakehost' }] });
  await launcher.kill();

  await whileStopped(async (data) => {
    await rm(data, { recursive: true });
    await cp(copy, data, { recursive: true });
  });
  await nodepool('provider', 'pause', 'rack', '--reason', 'older copy');
  await launch('third');
  await nodepool('delete', '0000000000');
  await expect.poll(nodes, SOON).toEqual(['0000000001 ready']);
  const client = new ZuulClient(await openSession(ground.zookeeper));
  const request = await client.submit(['rack']);
  await expect.poll(() => nodepool('explain', request), SOON).toContain('is paused by');
  expect([(await client.readRequest(request)).body.state, await nodes()]).toEqual(['requested', ['0000000001 ready']]);

  await nodepool('provider', 'resume', 'rack');
  const taken = await client.take(request);
  expect(taken.map(({ id }) => id)).toEqual(['0000000001']);
  await client.giveBack(taken);
  await client.zk.close();
}, 300_000);
