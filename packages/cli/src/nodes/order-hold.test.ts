import { hostname, userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { decodeNode, nodePath } from '@nodepool/zk-protocol';
import type { NodeId } from '@nodepool/zk-protocol';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const SELF = `${userInfo().username}@${hostname()}`;
const HOUR = 3_600_000;
const call = (...argv: string[]) => get().call(...argv);

/** The record as any launcher reads it. */
async function read(id: string) {
  const { data, stat } = await get().zk.getData(nodePath(id as NodeId));
  const node = decodeNode(id as NodeId, data, stat, 0);
  if (!node) throw new Error(`no node ${id}`);
  return node;
}

async function orders(): Promise<unknown> {
  const { stdout } = await call('controls', '--json', '--fields', 'kind,name,mode,owner,reason,until');
  return JSON.parse(stdout);
}

describe('nodepool hold of a node that a job uses', () => {
  it('orders launchers to hold it afterwards, with an end, and leaves its record to the job', async () => {
    const id = await get().createNode({ state: 'in-use' });
    await get().lock(id);
    const before = Date.now();

    const { status, stdout, stderr } = await call('hold', id, '--for', '2h', '--reason', 'kernel panic');

    expect(status).toBe(0);
    expect(stdout).toContain(id);
    expect(stderr).toMatch(
      /node \d+ is locked \(state in-use, held by session .*"zuul"\)\. It will be held after its use, until /,
    );
    expect(stderr).toContain('no registered launcher has the provider rack');
    expect(await read(id)).toMatchObject({ state: 'in-use', comment: null, holdExpirationMs: null });
    const [order] = (await orders()) as { until: string }[];
    expect(order).toMatchObject({ kind: 'node', name: id, mode: 'hold', owner: SELF, reason: 'kernel panic' });
    expect(Date.parse(order?.until ?? '') - before - 2 * HOUR).toBeLessThan(60_000);
  });

  it('ends after a day when nothing is said, and can be taken back', async () => {
    const id = await get().createNode({ state: 'in-use' });
    await get().lock(id);

    await call('hold', id);

    const [order] = (await orders()) as { until: string }[];
    expect(Math.round((Date.parse(order?.until ?? '') - Date.now()) / HOUR)).toBe(24);
    expect(await call('hold', id, '--cancel')).toMatchObject({
      status: 0,
      stdout: `Node ${id} is returned after its use\n`,
    });
    expect(await orders()).toEqual([]);
    expect(await call('hold', id, '--cancel')).toMatchObject({ status: 1 });
  });

  it('warns where a launcher of the original has the provider', async () => {
    await get().registerRack(['small']);
    const id = await get().createNode({ state: 'in-use' });
    await get().lock(id);

    expect((await call('hold', id)).stderr).toMatch(
      /the order may have no effect: \S+ has the provider rack too, with the original/,
    );
  });

  it('--extend is refused', async () => {
    const id = await get().createNode({ state: 'in-use' });
    await get().lock(id);

    expect(await call('hold', id, '--extend', '1h')).toMatchObject({ status: 1 });
    expect(await orders()).toEqual([]);
  });
});
