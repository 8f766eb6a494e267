import { newNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import type { Instance } from '../../contract/instance.js';
import { silentLogger } from '../../contract/logger.js';
import { VanishedSpares } from './vanished-spares.js';

function setUp(...nodes: Partial<NodeRecord>[]) {
  const all = nodes.map((fields, index) => ({
    ...newNode({ state: 'testing', launchState: { start: true }, ...fields }, 0),
    ...{ id: String(index) as NodeId, externalId: `i-${index}` },
  }));
  const shown = new Set(all.map(({ externalId }) => externalId));
  const withdrawn: string[] = [];
  let lists = 0;
  const vanished = new VanishedSpares({
    context: { ownNodes: () => all, withdrawNode: (id) => Promise.resolve(withdrawn.push(id) > 0) },
    logger: silentLogger,
    instances: {
      mark: () => 0,
      list: () => {
        lists++;
        const instance = (externalId: string): Instance => ({
          ...{ externalId, ready: false, deleted: false, interfaceIp: null, metadata: {} },
        });
        return Promise.resolve([...shown].map(instance));
      },
    },
  });
  return { shown, withdrawn, look: () => vanished.look(new AbortController().signal), lists: () => lists };
}

it('withdraws a stopped node whose instance was missing twice', async () => {
  const { shown, withdrawn, look } = setUp({}, {});
  shown.delete('i-1');

  await look();
  const once = [...withdrawn];
  await look();

  expect([once, withdrawn]).toEqual([[], ['1']]);
});

it('keeps a node that was missing in one list only', async () => {
  const { shown, withdrawn, look } = setUp({});

  for (const isMissing of [true, false, true]) {
    if (isMissing) shown.delete('i-0');
    else shown.add('i-0');
    await look();
  }

  expect(withdrawn).toEqual([]);
});

it('asks the cloud nothing without stopped nodes', async () => {
  const { lists, look } = setUp({ state: 'ready' }, { state: 'building' }, { launchState: { stopping: true } });

  await look();

  expect(lists()).toBe(0);
});
