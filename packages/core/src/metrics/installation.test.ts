import { newNode, newPoolComponent, type LauncherId, type NodeId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { Installation } from './installation.js';

const poolOf = (providerName: string, name: string, ...supportedLabels: string[]) => ({
  ...newPoolComponent({
    ...{ hostname: 'nl01', state: 'running', version: '1', priority: 100, paused: false },
    ...{ launcherId: 'nl01' as LauncherId, name, providerName, supportedLabels },
  }),
});

it('merges pools of the same name from several launchers, with all their labels', () => {
  const installation = new Installation(() => [poolOf('sky', 'main', 'a'), poolOf('sky', 'main', 'b')]);

  expect(installation.pools()).toEqual([{ provider: 'sky', pool: 'main', labels: new Set(['a', 'b']) }]);
});

it('updates pools after registrations change', () => {
  let registered = [poolOf('sky', 'main', 'a')];
  const installation = new Installation(() => registered);
  installation.pools();
  registered = [];
  installation.poolsChanged();

  expect(installation.pools()).toEqual([]);
});

it('ignores an entry of an older launcher without a pool name', () => {
  const installation = new Installation(() => [{ ...poolOf('sky', '', 'a'), legacy: true }]);

  expect(installation.pools()).toEqual([]);
});

it('includes labels and providers of nodes that no pool offers any more', () => {
  const installation = new Installation(() => [poolOf('sky', 'main', 'a')]);
  const after = { ...newNode({ state: 'ready', labels: ['old'], provider: 'sea' }, 0), id: '0000000001' as NodeId };
  installation.nodeChanged({ id: after.id, before: undefined, after });

  expect(installation.labels()).toEqual(new Set(['a', 'old']));
  expect(installation.providers()).toEqual(new Set(['sky', 'sea']));
});

it('includes a bounded number of labels that no pool offers, whatever nodes have', () => {
  const installation = new Installation(() => [poolOf('sky', 'main', 'a')]);
  for (let i = 0; i < 5_000; i++) {
    const after = { ...newNode({ state: 'ready', labels: [`l${i}`], provider: 'sea' }, 0), id: String(i) as NodeId };
    installation.nodeChanged({ id: after.id, before: undefined, after });
  }

  expect(installation.labels().size).toBe(1_001);
  expect(installation.labels()).toContain('a');
});
