import { newNode, newPoolComponent, type LauncherId, type NodeId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { Installation } from './installation.js';

const poolOf = (providerName: string, name: string, ...supportedLabels: string[]) => ({
  ...newPoolComponent({
    ...{ hostname: 'nl01', state: 'running', version: '1', priority: 100, paused: false },
    ...{ launcherId: 'nl01' as LauncherId, name, providerName, supportedLabels },
  }),
});

it('takes the pools of one name in several launchers for one, with the labels of all', () => {
  const installation = new Installation(() => [poolOf('sky', 'main', 'a'), poolOf('sky', 'main', 'b')]);

  expect(installation.pools()).toEqual([{ provider: 'sky', pool: 'main', labels: new Set(['a', 'b']) }]);
});

it('sees pools that come and go after a change', () => {
  let registered = [poolOf('sky', 'main', 'a')];
  const installation = new Installation(() => registered);
  installation.pools();
  registered = [];
  installation.poolsChanged();

  expect(installation.pools()).toEqual([]);
});

it('passes over an entry of an older launcher that names no pool', () => {
  const installation = new Installation(() => [{ ...poolOf('sky', '', 'a'), legacy: true }]);

  expect(installation.pools()).toEqual([]);
});

it('knows labels and providers of nodes that no pool offers any more', () => {
  const installation = new Installation(() => [poolOf('sky', 'main', 'a')]);
  const after = { ...newNode({ state: 'ready', labels: ['old'], provider: 'sea' }, 0), id: '0000000001' as NodeId };
  installation.nodeChanged({ id: after.id, before: undefined, after });

  expect(installation.labels()).toEqual(new Set(['a', 'old']));
  expect(installation.providers()).toEqual(new Set(['sky', 'sea']));
});
