import { hostname, userInfo } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeNode, nodeLockPath, nodePath, type NodeId } from '@nodepool/zk-protocol';
import { useInstallation } from './installation.js';

const get = useInstallation();
const SELF = `${userInfo().username}@${hostname()}`;
const HOUR = 3_600_000;

beforeAll(() => get().write('nodepool.yaml', 'labels:\n  - name: small\n'));

const call = (...argv: string[]) => get().nodepool('nodepool.yaml', ...argv);

/** The record as any launcher reads it. */
async function read(id: string) {
  const { data, stat } = await get().zk.getData(nodePath(id as NodeId));
  const node = decodeNode(id as NodeId, data, stat, 0);
  if (!node) throw new Error(`no node ${id}`);
  return node;
}

/** Locks a node, as Zuul does while a job uses it. */
async function lock(id: string): Promise<void> {
  const { zk } = get();
  await zk.ensurePath(nodeLockPath(id as NodeId));
  await zk.create(`${nodeLockPath(id as NodeId)}/${'0'.repeat(32)}__lock__`, 'zuul', {
    sequential: true,
    ephemeral: true,
  });
}

async function orders(): Promise<unknown> {
  const { stdout } = await call('controls', '--json', '--fields', 'kind,name,mode,owner,reason,until');
  return JSON.parse(stdout);
}

describe('nodepool hold of a node that a job uses', () => {
  it('orders launchers to hold it afterwards, with an end, and leaves its record to the job', async () => {
    const id = await get().createNode({ state: 'in-use' });
    await lock(id);
    const before = Date.now();

    const { status, stdout, stderr } = await call('hold', id, '--for', '2h', '--reason', 'kernel panic');

    expect(status).toBe(0);
    expect(stdout).toContain(id);
    expect(stderr).toMatch(
      /node \d+ is locked \(state in-use, held by session .*"zuul"\)\. It will be held when its use is over, until /,
    );
    expect(stderr).toContain('no registered launcher has the provider rack');
    expect(await read(id)).toMatchObject({ state: 'in-use', comment: null, holdExpirationMs: null });
    const [order] = (await orders()) as { until: string }[];
    expect(order).toMatchObject({ kind: 'node', name: id, mode: 'hold', owner: SELF, reason: 'kernel panic' });
    expect(Date.parse(order?.until ?? '') - before - 2 * HOUR).toBeLessThan(60_000);
  });

  it('ends after a day when nothing is said, and can be taken back', async () => {
    const id = await get().createNode({ state: 'in-use' });
    await lock(id);

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
    await lock(id);

    expect((await call('hold', id)).stderr).toMatch(
      /the order may have no effect: \S+ has the provider rack too, with the original/,
    );
  });

  it('--extend is refused', async () => {
    const id = await get().createNode({ state: 'in-use' });
    await lock(id);

    expect(await call('hold', id, '--extend', '1h')).toMatchObject({ status: 1 });
    expect(await orders()).toEqual([]);
  });
});

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

  it('says when the configuration ends the hold sooner', async () => {
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
