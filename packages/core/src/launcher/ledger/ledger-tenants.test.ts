import { describe, expect, it } from 'vitest';
import { ID, openLedger, STORED } from '../../../test/support/open-ledger.js';

describe('what a tenant uses', () => {
  it('has in it what an accepted request will get, and its nodes only once', async () => {
    const { ledger, begin, create, told } = await openLedger();
    begin('a', 'b');
    expect(ledger.usedByTenant('t')).toEqual({ instances: 2, cores: 8 });

    await create();
    expect(ledger.usedByTenant('t')).toEqual({ instances: 2, cores: 8 });
    expect(told()).toEqual([]);

    ledger.end(ID);
    expect(ledger.usedByTenant('t')).toEqual(STORED);
    expect(told()).toEqual(['tenant t']);
  });

  it('is no less when a request ends that has all its nodes', async () => {
    const { ledger, begin, create, told } = await openLedger();
    begin('a');
    await create();

    ledger.end(ID);

    expect(ledger.usedByTenant('t')).toEqual(STORED);
    expect(told()).toEqual([]);
  });

  it.each(['aborted', 'failed'] as const)(
    'has a node in it that is %s and another that takes its place',
    async (state) => {
      const { ledger, begin, launch, create, change, remove, told } = await openLedger();
      begin('a');
      launch();
      const node = await create({ state: 'building' });

      await change(node, { state });
      expect(ledger.usedByTenant('t')).toEqual({ instances: 2, cores: 8 });

      await remove(node);
      expect(ledger.usedByTenant('t')).toEqual(STORED);
      expect(told()).toEqual(['tenant t', 'label a']);

      launch();
      await create();
      expect(ledger.usedByTenant('t')).toEqual(STORED);
    },
  );

  it('has a request in it once that two pools try to have', async () => {
    const { ledger, begin } = await openLedger();
    begin('a');
    begin('a');
    expect(ledger.usedByTenant('t')).toEqual(STORED);

    ledger.end(ID);
    expect([ledger.has(ID), ledger.usedByTenant('t')]).toEqual([true, STORED]);

    ledger.end(ID);
    expect([ledger.has(ID), ledger.usedByTenant('t')]).toEqual([false, { instances: 0, cores: 0 }]);
  });

  it('has free nodes in it that carry its name: other launchers leave it on nodes of withdrawn requests', async () => {
    const { ledger, create, change, told } = await openLedger();
    const node = await create({ state: 'ready' });

    await change(node, { allocatedTo: null });
    expect(ledger.usedByTenant('t')).toEqual(STORED);
    expect(told()).toEqual([]);

    await change(node, { tenantName: null });
    expect(ledger.usedByTenant('t')).toEqual({ instances: 0, cores: 0 });
    expect(told()).toEqual(['tenant t']);
  });

  it('has nodes in it of providers that are not configured here', async () => {
    const { ledger, create } = await openLedger();

    await create({ provider: 'unknown', resources: null });

    expect(ledger.usedByTenant('t')).toEqual({ instances: 1 });
  });
});
