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
  let nowMs = 0;
  const options = {
    provider: 'cloud',
    adapter: {
      listResources: () => Promise.resolve(resources),
      deleteResource: ({ id }: Resource) =>
        id === 'stubborn' ? Promise.reject(new Error('no')) : Promise.resolve(void deleted.push(id)),
    },
    nodes: { ready: true, get: (id: string) => (id === NODE ? node : undefined) },
    zk: { exists: () => Promise.resolve(undefined) },
    clock: { now: () => ++nowMs },
    images: undefined,
    logger: silentLogger,
    metrics: undefined,
    deleted: () => undefined,
  };
  const finder = new LeakFinder(options as unknown as LeakFinderOptions);
  return { deleted, resources, found: () => finder.found, run: () => finder.run(new AbortController().signal) };
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

describe('what has been found', () => {
  it('is told since when, and why it is still there, until it is gone', async () => {
    const cloud = look('in-use', ['own', 'late', 'stubborn']);

    await cloud.run();
    const first = cloud.found();
    await cloud.run();
    const second = cloud.found();
    cloud.resources.splice(1);
    await cloud.run();

    const sighting = { type: 'instance', nodeId: NODE };
    expect(first).toEqual([
      { ...sighting, id: 'late', sinceMs: 1, error: undefined },
      { ...sighting, id: 'stubborn', sinceMs: 2, error: undefined },
    ]);
    expect(second).toEqual([first[0], { ...sighting, id: 'stubborn', sinceMs: 2, error: 'no' }]);
    expect(cloud.found()).toEqual([]);
  });
});
