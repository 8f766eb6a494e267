import { join } from 'node:path';
import { connect } from '@nodepool/zk-protocol';
import { FakeCloudProcess } from '../fake-cloud.js';
import { cloudConfig } from './cloud-config.js';
import type { Finding } from './finding.js';
import { LeanClient } from './lean-client.js';
import { withServer } from './scenarios.js';
import { startLauncher, THIS_CHECKOUT } from './subjects.js';

const REQUESTS = 200;
/** The cloud tells the id before the instance is there, as real ones do. */
const BOOT_S = 0.2;

/** Writes to ZooKeeper for one request that a new node serves, to the end of the node. @param beside - another checkout */
export async function measureLaunchWrites(beside: string | undefined): Promise<Finding[]> {
  const here = await writesOf(THIS_CHECKOUT);
  const found = [{ what: 'launch writes: of this checkout', value: here, unit: 'a request' }];
  if (beside === undefined) return found;
  const there = await writesOf(beside);
  return [
    ...found,
    { what: 'launch writes: of the other checkout', value: there, unit: 'a request' },
    {
      what: 'launch writes: more than the other checkout',
      value: here - there,
      unit: 'a request',
      wanted: 'at most 1',
    },
  ];
}

function writesOf(checkout: string): Promise<number> {
  return withServer('zookeeper', async (connectString, dir) => {
    const cloud = await FakeCloudProcess.start(join(dir, 'cloud'));
    const setup = { settings: { 'create-time': BOOT_S } };
    const config = (port: number) => cloudConfig(connectString, cloud.dir, setup, port);
    const launcher = await startLauncher(join(dir, 'launcher'), config, checkout);
    const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
    try {
      const client = new LeanClient(zk, ['a']);
      await client.start();
      const before = await launcher.traffic();
      await Promise.all(
        Array.from({ length: REQUESTS }, async () => {
          const { nodes } = await client.obtain();
          await Promise.all(nodes.map((node) => client.use(node)));
        }),
      );
      await cloud.until((instances) => instances.length === 0);
      return ((await launcher.traffic()).writes - before.writes) / REQUESTS;
    } finally {
      await launcher.kill('SIGKILL');
      await zk.close();
      await cloud.stop();
    }
  });
}
