import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../client/connect.js';
import type { ZooKeeper } from '../client/contract/types.js';
import { imageBuildRequestPath } from '../records/paths.js';
import { removeBuildRequest, requestBuild } from './build-request.js';

let server: ZooKeeperHandle;
let zk: ZooKeeper;

beforeAll(async () => {
  server = await startZooKeeper({});
  zk = await connect({ servers: server.connectString });
});
afterAll(async () => {
  await zk.close();
  await server.stop();
});

const waiting = async (image: string) => (await zk.exists(imageBuildRequestPath(image)))?.version;

it('is made, renewed while it waits, and says since when one has waited', async () => {
  const first = await requestBuild(zk, 'debian');
  const second = await requestBuild(zk, 'debian');

  expect([first.earlierMs, second.earlierMs]).toEqual([undefined, first.stat.mtime]);
  expect(await waiting('debian')).toBe(1);
});

it('is removed by the build that serves it, but not when it was renewed or made again since', async () => {
  const { stat } = await requestBuild(zk, 'fedora');
  const renewed = await requestBuild(zk, 'fedora');

  await removeBuildRequest(zk, 'fedora', stat);
  expect(await waiting('fedora')).toBe(1);
  await removeBuildRequest(zk, 'fedora', renewed.stat);
  expect(await waiting('fedora')).toBeUndefined();
  await removeBuildRequest(zk, 'fedora', renewed.stat);

  await requestBuild(zk, 'fedora');
  await removeBuildRequest(zk, 'fedora', stat);
  expect(await waiting('fedora')).toBe(0);
});

it('is made once by several at the same time', async () => {
  const requests = await Promise.all([1, 2, 3].map(() => requestBuild(zk, 'suse')));

  expect(requests.filter(({ earlierMs }) => earlierMs === undefined)).toHaveLength(1);
  expect(await waiting('suse')).toBe(2);
});
