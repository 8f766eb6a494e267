import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { elasticConfig, oneProvider } from '../elastic-config.js';
import { FakeCloudProcess } from '../fake-cloud.js';
import { startGround, type Ground } from '../harness.js';
import { LauncherProcess } from '../launcher-process.js';
import { openSession } from '../session.js';
import { ZuulClient } from '../zuul-client.js';

/** An instance without a record is deleted after two sweeps, a minute apart, have seen it. */
const LEAKS_FOUND_MS = 150_000;

let ground: Ground;
let cloud: FakeCloudProcess;
let launcher: LauncherProcess | undefined;

beforeAll(async () => {
  ground = await startGround();
  cloud = await FakeCloudProcess.start(join(ground.dir, 'cloud'));
});

afterAll(async () => {
  await launcher?.kill();
  await cloud.stop();
  await ground.zk.close();
  await ground.zookeeper.stop();
  await rm(ground.dir, { recursive: true });
});

async function launch(name: string): Promise<LauncherProcess> {
  const servers = ground.zookeeper.servers.map(({ host, port }) => ({ host, port }));
  const config = { 'zookeeper-servers': servers, ...elasticConfig(oneProvider(), cloud.dir) };
  launcher = await LauncherProcess.start(join(ground.dir, name), name, config);
  await launcher.whenReady();
  return launcher;
}

async function newClient(): Promise<ZuulClient> {
  return new ZuulClient(await openSession(ground.zookeeper));
}

/** Copies the data of ZooKeeper, or puts a copy back, while its server is stopped. */
async function whileStopped(act: (data: string) => Promise<void>): Promise<void> {
  await ground.zookeeper.kill();
  await act(join(ground.zookeeper.servers[0]?.dir ?? '', 'data'));
  await ground.zookeeper.restart();
}

it('after an older copy came back, a launch without an answer does not take the machine of the number before', async () => {
  const copy = join(ground.dir, 'copy');
  await (await launch('first')).stop();
  await whileStopped((data) => cp(data, copy, { recursive: true }));
  await launch('second');
  const lessee = await newClient();
  const [lent] = await lessee.getNodes(['small']);
  if (!lent) throw new Error('no node was lent');
  await lessee.use([lent]);
  await launcher?.kill();
  await lessee.zk.close();

  await whileStopped(async (data) => {
    await rm(data, { recursive: true });
    await cp(copy, data, { recursive: true });
  });
  await cloud.set('failures.connection-reset', 1);
  const other = await newClient();
  const request = await other.submit(['small']);
  await launch('third');
  const [node] = await other.take(request);
  await cloud.set('failures.connection-reset', 0);

  expect(node?.id).toBe(lent.id);
  expect(node?.body['external_id']).not.toBe(lent.body['external_id']);
  await cloud.until((instances) => instances.every(({ id }) => id === node?.body['external_id']), LEAKS_FOUND_MS);
  if (node) await other.giveBack([node]);
  await cloud.until((instances) => instances.length === 0);
  await other.zk.close();
}, 300_000);
