import {
  createNodeCache,
  createRequestCache,
  encodeNode,
  newNode,
  NODES_ROOT,
  REQUESTS_ROOT,
  type NodeFields,
  type NodeId,
} from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { expect, it } from 'vitest';
import { silentLogger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { LauncherEvents } from './events.js';
import { Mirror } from './mirror.js';

/** A mirror that shows one node, free unless something else is said. */
async function mirrorOfOne(fields: NodeFields = {}) {
  const clock = new VirtualClock();
  const { zk } = connectInMemory(new MemoryServer(clock), { clock });
  await clock.run(Promise.all([zk.ensurePath(NODES_ROOT), zk.ensurePath(REQUESTS_ROOT)]));
  const body = encodeNode(
    newNode({ state: 'ready', labels: ['a'], provider: 'p', pool: 'main', ...fields }, clock.now()),
  );
  const path = await clock.run(zk.create(`${NODES_ROOT}/`, body, { sequential: true }));
  const caches = { zk, clock, logger: silentLogger };
  const [nodes, requests] = [createNodeCache(caches), createRequestCache(caches)];
  const mirror = new Mirror(nodes, requests, new LauncherEvents());
  await clock.run(Promise.all([nodes.start(), requests.start()]));
  const countFree = () => [...mirror.free('p', 'main').all()].length;
  return { mirror, id: path.slice(NODES_ROOT.length + 1) as NodeId, countFree };
}

it('keeps a node for the request that claimed it, until it is returned', async () => {
  const { mirror, id, countFree } = await mirrorOfOne();
  const [owner, other] = [{}, {}];

  expect(mirror.claim(id, owner)).toBe(true);
  expect(mirror.claim(id, other)).toBe(false);
  mirror.unclaim(id, other);
  expect(countFree()).toBe(0);

  mirror.unclaim(id, owner);
  expect(countFree()).toBe(1);
});

it.each([
  ['counts a leased node as present: it returns', { lease: '1' }, 1],
  ['does not count a node that a person holds', null, 0],
])('%s', async (_, userData, count) => {
  const { mirror } = await mirrorOfOne({ state: 'hold', userData });

  expect(mirror.presentCount('p', 'main', 'a')).toBe(count);
});
