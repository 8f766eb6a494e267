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

describe('nodepool hold', () => {
  it('changes nothing but the state when nothing more is said', async () => {
    const id = await get().createNode({ comment: 'of the job' });

    await call('hold', id);

    expect(await read(id)).toMatchObject({ state: 'hold', comment: 'of the job', holdExpirationMs: null });
  });

  it('writes owner, reason and end where launchers of every release look', async () => {
    const id = await get().createNode();

    const { status } = await call('hold', id, '--for', '2h', '--reason', 'kernel panic');

    expect(status).toBe(0);
    expect(await read(id)).toMatchObject({ comment: `${SELF}: kernel panic`, holdExpirationMs: 2 * HOUR });
  });

  it('refuses a node that is lent to a lease, with which the hold would end', async () => {
    const id = await get().createNode({ state: 'hold', userData: { lease: 'abc' }, holdExpirationMs: 60_000 });

    const { status, stderr } = await call('hold', id, '--for', '2h');

    expect(status).toBe(1);
    expect(stderr).toContain(`Node ${id} is lent to lease abc`);
    expect((await read(id)).holdExpirationMs).toBe(60_000);
  });

  it('names another owner', async () => {
    const id = await get().createNode();

    await call('hold', id, '--owner', 'alice', '--for', '30m');

    expect((await read(id)).comment).toBe('alice');
  });

  it('moves the end of a hold, and leaves its beginning', async () => {
    const id = await get().createNode();
    await call('hold', id, '--for', '2h');
    const before = await read(id);

    const { status } = await call('hold', id, '--extend', '1h30m', '--reason', 'not done');
    const listed = await call('list', '--json', '--fields', 'hold_until');

    const after = await read(id);
    expect(status).toBe(0);
    expect(after).toMatchObject({ stateTimeMs: before.stateTimeMs, holdExpirationMs: 3.5 * HOUR });
    expect(after.comment).toBe(`${SELF}: not done`);
    expect(JSON.parse(listed.stdout)).toEqual([{ hold_until: (after.stateTimeMs + 3.5 * HOUR) / 1000 }]);
  });

  it('extends an end that has passed from now on', async () => {
    const stateTimeMs = Date.now() - 5 * HOUR;
    const id = await get().createNode({ state: 'hold', stateTimeMs, holdExpirationMs: HOUR });

    await call('hold', id, '--extend', '1h');

    expect((await read(id)).holdExpirationMs).toBeGreaterThanOrEqual(6 * HOUR);
  });

  it.each([
    ['a node that is not held', { state: 'ready' as const }, /is ready, not held: hold it with --for/],
    ['a hold without an end', { state: 'hold' as const }, /has no end: give it one with --for/],
  ])('does not extend %s', async (_what, fields, message) => {
    const id = await get().createNode(fields);

    const { status, stderr } = await call('hold', id, '--extend', '1h');

    expect(status).toBe(1);
    expect(stderr).toMatch(message);
  });

  it('reports an earlier end of the hold by the configuration', async () => {
    await get().write('short.yaml', 'max-hold-age: 3600\n');
    const id = await get().createNode();

    const { status, stderr } = await get().nodepool('short.yaml', 'hold', id, '--for', '8h');

    expect(status).toBe(0);
    expect(stderr).toMatch(/max-hold-age of the configuration ends the hold of node \d+ sooner/);
  });

  it.each([
    [['--for', '1h', '--extend', '1h'], /either --for or --extend/],
    [['--for', '0'], /--for needs a time above 0/],
  ])('does not understand %j', async (options, message) => {
    const { status, stderr } = await call('hold', '0000000001', ...options);

    expect(status).toBe(2);
    expect(stderr).toMatch(message);
  });
});
