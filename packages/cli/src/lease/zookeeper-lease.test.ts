import { nodeLockPath, REQUESTS_ROOT, ZkLock, patientClock } from '@nodepool/zk-protocol';
import type { NodeId, ZooKeeper } from '@nodepool/zk-protocol';
import { expect, it, onTestFinished, vi } from 'vitest';
import { FakeLauncher } from '../../test/fake-launcher.js';
import { useWorld } from '../../test/world.js';
import { fetchNodeRows } from '../connection/fetch-records.js';
import { ZooKeeperLease } from './zookeeper-lease.js';
import { submitRequest } from './request.js';

const get = useWorld();

/** Takes the nodes of a request, as far as they are allocated to it. @param foreign - is not */
async function take(
  labels: string[],
  nodeIds: NodeId[],
  foreign: NodeId[] = [],
  by?: ZooKeeper,
): Promise<ZooKeeperLease> {
  const zk = by ?? (await get().connect());
  const launcher = new FakeLauncher(get().zk);
  const spec = { labels, provider: undefined, priority: 200, requestor: 'test' };
  const id = await submitRequest(zk, patientClock, spec);
  const request = await launcher.nextRequest();
  for (const nodeId of nodeIds) await launcher.changeNode(nodeId, { allocatedTo: id });
  const context = { zk, clock: patientClock, owner: 'alice', userData: { purpose: 'test' }, maxHoldAgeMs: 0 };
  return ZooKeeperLease.take(context, { ...request, nodeIds: [...nodeIds, ...foreign] }, new AbortController().signal);
}

const readNode = (id: NodeId) => new FakeLauncher(get().zk).readNode(id);
const locks = (id: NodeId) => get().zk.getChildren(nodeLockPath(id));

it('takes nodes in the order of the labels, in use and locked, and deletes the request', async () => {
  const first = await get().createNode();
  const second = await get().createNode({ labels: ['big'] });

  const lease = await take(['big', 'small'], [second, first]);

  expect(lease.nodes.map(({ node, label }) => [node.id, label])).toEqual([
    [second, 'big'],
    [first, 'small'],
  ]);
  expect(await get().zk.getChildren(REQUESTS_ROOT)).toEqual([]);
  const rows = await fetchNodeRows({ ...get().context(), zk: get().zk });
  expect(rows.map(({ node, locked }) => [node.state, locked])).toEqual([
    ['in-use', true],
    ['in-use', true],
  ]);
  expect((await readNode(first)).userData).toEqual({ purpose: 'test' });
});

it('returns the nodes as used and unlocked', async () => {
  const id = await get().createNode();
  const lease = await take(['small'], [id]);

  await lease.release();

  expect((await readNode(id)).state).toBe('used');
  expect(await locks(id)).toEqual([]);
  expect(lease.lost.aborted).toBe(false);
});

it('stores a hold in place of the return', async () => {
  const id = await get().createNode();
  const lease = await take(['small'], [id]);

  await lease.hold('failed', 3_600_000);
  await lease.release();

  expect(await readNode(id)).toMatchObject({ state: 'hold', comment: 'failed', holdExpirationMs: 3_600_000 });
});

it('leaves a node unchanged that an operator has changed meanwhile', async () => {
  const id = await get().createNode();
  const lease = await take(['small'], [id]);
  await new FakeLauncher(get().zk).changeNode(id, { state: 'hold' });

  await lease.release();

  expect((await readNode(id)).state).toBe('hold');
});

it('returns all nodes when one is not allocated to the request', async () => {
  const [good, bad] = [await get().createNode(), await get().createNode()];

  await expect(take(['small', 'small'], [good], [bad])).rejects.toThrow(`Node ${bad} is no longer allocated`);

  expect((await readNode(good)).state).toBe('ready');
  expect(await locks(good)).toEqual([]);
  expect(await get().zk.getChildren(REQUESTS_ROOT)).toEqual([]);
});

it('returns a node with an unsafe record', async () => {
  const id = await get().createNode({ username: '-oProxyCommand=id' });

  await expect(take(['small'], [id])).rejects.toThrow(`Node ${id} of rack is not used: its username`);

  expect((await readNode(id)).state).toBe('ready');
  expect(await locks(id)).toEqual([]);
});

it('notices that a lock was taken away', async () => {
  const id = await get().createNode();
  const lease = await take(['small'], [id]);
  const lost = new Promise((resolve) => lease.lost.addEventListener('abort', resolve, { once: true }));

  await ZkLock.forceUnlock(get().zk, nodeLockPath(id));

  await lost;
  expect(String(lease.lost.reason)).toContain('The nodes are lost');
  await lease.release();
  expect((await readNode(id)).state).toBe('in-use');
});

it.each([
  ['is lost', 'does not answer', true],
  ['stays', 'answers, as when only the time was set', false],
])(
  '%s after sleep of this computer if ZooKeeper %s',
  async (_what, _how, isSilent) => {
    const zk = await get().connect();
    const lease = await take(['small'], [await get().createNode()], [], zk);
    onTestFinished(() => lease.release());
    const asked = vi.spyOn(zk, 'exists');
    if (isSilent) asked.mockReturnValue(new Promise(() => undefined));
    const before = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => before() + 3_600_000);
    onTestFinished(() => void vi.restoreAllMocks());

    await expect.poll(() => asked.mock.calls.length, { timeout: 5_000 }).toBe(1);
    if (isSilent) await expect.poll(() => lease.lost.aborted, { timeout: 10_000 }).toBe(true);
    else await asked.mock.results[0]?.value;

    const reason = 'The nodes are lost: this computer slept, and ZooKeeper does not confirm that the session lasts';
    expect(lease.lost.aborted ? String(lease.lost.reason) : '').toContain(isSilent ? reason : '');
    expect(lease.lost.aborted).toBe(isSilent);
  },
  20_000,
);
