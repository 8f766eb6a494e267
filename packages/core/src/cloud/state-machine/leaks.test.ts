import { describe, expect, it } from 'vitest';
import { newNode, type NodeId, type NodeRecord, type NodeState } from '@nodepool/zk-protocol';
import { silentLogger } from '../../contract/logger.js';
import { NODE_ID_TAG, PROVIDER_TAG, type Resource } from '../../contract/instance.js';
import { LeakFinder, type LeakFinderOptions } from './leaks.js';

const NODE = '0000000007' as NodeId;

/** A cloud that shows these resources, and the node they are tagged for. */
function look(state: NodeState, ids: readonly string[]) {
  const node: NodeRecord = { ...newNode({ state, provider: 'cloud', externalId: 'own' }, 0), id: NODE };
  const tags = { [PROVIDER_TAG]: 'cloud', [NODE_ID_TAG]: NODE };
  const resources: Resource[] = ids.map((id) => ({ type: 'instance', id, metadata: tags }));
  const deleted: string[] = [];
  const options = {
    provider: 'cloud',
    adapter: {
      listResources: () => Promise.resolve(resources),
      deleteResource: ({ id }: Resource) => Promise.resolve(void deleted.push(id)),
    },
    nodes: { ready: true, get: (id: string) => (id === NODE ? node : undefined) },
    zk: { exists: () => Promise.resolve(undefined) },
    images: undefined,
    logger: silentLogger,
    metrics: undefined,
    deleted: () => undefined,
  };
  const finder = new LeakFinder(options as unknown as LeakFinderOptions);
  return { deleted, run: () => finder.run(new AbortController().signal) };
}

describe('a second instance of one node', () => {
  it('is deleted when it is seen twice beside that of the node', async () => {
    const cloud = look('in-use', ['own', 'late']);

    await cloud.run();
    expect(cloud.deleted).toEqual([]);
    await cloud.run();

    expect(cloud.deleted).toEqual(['late']);
  });

  it.each<[string, NodeState, string[]]>([
    ['while the node is being made', 'building', ['own', 'late']],
    ['when the own one is not listed: ids may be of another form', 'ready', ['late']],
  ])('is kept %s', async (_when, state, ids) => {
    const cloud = look(state, ids);

    await cloud.run();
    await cloud.run();

    expect(cloud.deleted).toEqual([]);
  });
});
