import {
  decodeLease,
  encodeLease,
  leasePath,
  leaseSlotPath,
  leaseSlotsPath,
  newLease,
  withLease,
  type LeaseState,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call('token', ...argv);

it('nodepool token revoke --end-leases ends what was leased with the token, and nothing else', async () => {
  const { zk } = get();
  await call('create', 'ci');
  async function store(id: string, token: string, state: LeaseState, slots: number[]): Promise<void> {
    const lease = newLease(
      { id, owner: 'team', token, labels: ['small'], ttlMs: 1, digest: '', keeper: 'me', slots },
      0,
    );
    await zk.ensurePath(leaseSlotsPath(token));
    await zk.ensurePath('/nodepool/leases');
    await zk.create(leasePath(id), encodeLease(withLease(lease, { state }, 0)));
    for (const slot of slots) await zk.create(leaseSlotPath(token, slot), Buffer.alloc(0));
  }
  await store('l1', 'ci', 'waiting', [0, 2]);
  await store('l2', 'ci', 'active', []);
  await store('l3', 'ci', 'failed', []);
  await store('l4', 'other', 'active', [0]);
  await zk.create(leasePath('l5'), Buffer.from('{'));

  const { status, stdout } = await call('revoke', 'ci', '--end-leases');

  expect([status, stdout]).toEqual([0, 'Token ci is revoked; leases ended: 2\n']);
  const leases = await Promise.all(
    ['l1', 'l2', 'l3', 'l4'].map(async (id) => decodeLease(id, (await zk.getData(leasePath(id))).data, undefined)),
  );
  expect(leases).toMatchObject([
    { state: 'ended', endReason: 'token ci was revoked', slots: [0, 2] },
    { state: 'ended', endReason: 'token ci was revoked' },
    { state: 'failed' },
    { state: 'active', slots: [0] },
  ]);
  // launchers free them when the nodes are gone
  expect((await zk.getChildren(leaseSlotsPath('ci'))).sort()).toEqual(['0', '2']);
  expect((await call('revoke', 'ci', '--end-leases')).stdout).toContain('leases ended: 0');
});
