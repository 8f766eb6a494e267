import { describe, expect, it } from 'vitest';
import { newNode, type NodeId, type NodeRecord, type NodeState, type Stat } from '@nodepool/zk-protocol';
import { silentLogger } from '../../contract/logger.js';
import {
  DATABASE_ID_TAG,
  NODE_CREATED_TAG,
  NODE_ID_TAG,
  PROVIDER_TAG,
  type Resource,
} from '../../contract/instance.js';
import type { Adapter } from '../state-machine/types.js';
import { LeakFinder, type LeakFinderOptions } from './leak-finder.js';

const NODE = '0000000007' as NodeId;
const DATABASE = 'a'.repeat(32);
const OTHER_DATABASE = 'b'.repeat(32);
const NAMED = { [PROVIDER_TAG]: 'cloud', [NODE_ID_TAG]: NODE };
const OURS = { ...NAMED, [DATABASE_ID_TAG]: DATABASE };

/** A cloud that shows these resources, and the node they are tagged for. */
function look(
  state: NodeState,
  ids: readonly string[],
  metadata: Resource['metadata'] = OURS,
  adapter: Partial<Adapter> = {},
) {
  return lookAt(
    state,
    ids.map((id) => ({ type: 'instance', id, metadata })),
    adapter,
  );
}

/** A cloud with these resources that notes what is deleted and tagged. */
function cloudOf(resources: Resource[], deleted: string[], tagged: string[]) {
  return {
    listResources: () => Promise.resolve(resources),
    deleteResource: ({ id }: Resource) =>
      id === 'stubborn' ? Promise.reject(new Error('no')) : Promise.resolve(void deleted.push(id)),
    tagResource: (resource: Resource, tags: Resource['metadata']) => {
      tagged.push(`${resource.id} ${JSON.stringify(tags)}`);
      const at = resources.indexOf(resource);
      resources[at] = { ...resource, metadata: { ...resource.metadata, ...tags } };
      return Promise.resolve();
    },
  };
}

function lookAt(state: NodeState, resources: Resource[], adapter: Partial<Adapter> = {}) {
  const node: NodeRecord = { ...newNode({ state, provider: 'cloud', externalId: 'own' }, 0), id: NODE };
  const deleted: string[] = [];
  const tagged: string[] = [];
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const stored = { data: Buffer.from(DATABASE) };
  const inZooKeeper: { stat: Pick<Stat, 'czxid'> | undefined } = { stat: undefined };
  const records = new Map<string, NodeRecord>([[NODE, node]]);
  let [nowMs, steadyMs] = [0, 0];
  const options = {
    provider: 'cloud',
    databaseId: DATABASE,
    adapter: { ...cloudOf(resources, deleted, tagged), ...adapter },
    nodes: { ready: true, get: (id: string) => records.get(id) },
    zk: { exists: () => Promise.resolve(inZooKeeper.stat), getData: () => Promise.resolve(stored) },
    clock: { now: () => ++nowMs, steadyNow: () => ++steadyMs },
    images: undefined,
    logger: { ...silentLogger, error: say, warn: say, info: say },
    metrics: undefined,
    deleted: () => undefined,
  };
  const finder = new LeakFinder(options as unknown as LeakFinderOptions);
  return {
    ...{ deleted, tagged, lines, stored, inZooKeeper, records, resources, finder },
    found: () => finder.found,
    run: () => finder.run(new AbortController().signal),
  };
}

describe('an instance of a node that had the number before an older copy of the database was restored', () => {
  const FORMER = { ...OURS, [NODE_CREATED_TAG]: '1764331479123' };

  it('is deleted when it is seen twice', async () => {
    const cloud = look('building', ['former'], FORMER);
    await cloud.run();
    const afterOne = [...cloud.deleted];
    await cloud.run();

    expect([afterOne, cloud.deleted]).toEqual([[], ['former']]);
  });

  it('stays while the mirror shows another record than the database', async () => {
    const cloud = look('building', ['former'], FORMER);
    cloud.inZooKeeper.stat = { czxid: 9n };
    await cloud.run();
    await cloud.run();

    expect(cloud.deleted).toEqual([]);
  });
});

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

it('reads each entry of a list by itself, and leaves what it cannot read', async () => {
  const broken = [
    null,
    { type: 'instance', id: 'half' },
    { type: 'instance', id: 'none', metadata: null },
    { type: 'instance', metadata: OURS },
  ] as unknown as Resource[];
  const cloud = lookAt('in-use', [
    ...broken,
    { type: 'instance', id: 'one', metadata: { ...OURS, [NODE_ID_TAG]: '9' } },
  ]);

  await cloud.run();
  await cloud.run();

  expect(cloud.deleted).toEqual(['one']);
});

describe('where lists lag', () => {
  it('an instance without a record is deleted once it has been seen for as long', async () => {
    const cloud = look('in-use', ['one'], { ...OURS, [NODE_ID_TAG]: '0000000099' }, { listLagMs: 2 });
    const deletedAfter: number[] = [];

    for (let i = 0; i < 3; i++) {
      await cloud.run();
      deletedAfter.push(cloud.deleted.length);
    }

    expect(deletedAfter).toEqual([0, 0, 1]);
  });
});

describe('what has been found', () => {
  it('is reported from the second time on with its age and the reason, unless it was deleted', async () => {
    const cloud = look('in-use', ['own', 'late', 'stubborn']);

    await cloud.run();
    const first = cloud.found();
    await cloud.run();
    const second = cloud.found();
    cloud.resources.splice(1);
    await cloud.run();

    const sighting = { type: 'instance', nodeId: NODE };
    expect(first).toEqual([]);
    expect(second).toEqual([{ ...sighting, id: 'stubborn', sinceMs: 2, error: 'no' }]);
    expect(cloud.found()).toEqual([]);
  });
});

describe('what is not proven to be ours', () => {
  const tagsOf = (changes: Record<string, string>) => ({ ...NAMED, ...changes });

  it.each<[string, Record<string, string>]>([
    ['without a database id and a record', tagsOf({ [NODE_ID_TAG]: '0000000099' })],
    ['with another database id', tagsOf({ [NODE_ID_TAG]: '0000000099', [DATABASE_ID_TAG]: OTHER_DATABASE })],
    ['without a database id, tagged for a node that has another instance', NAMED],
    ['with another database id, whose node has the same number', tagsOf({ [DATABASE_ID_TAG]: OTHER_DATABASE })],
  ])('is reported and never deleted: %s', async (_what, metadata) => {
    const cloud = lookAt('in-use', [
      { type: 'instance', id: 'own', metadata: OURS },
      { type: 'instance', id: 'alien', name: 'np7', createdMs: 5, metadata },
    ]);

    for (let i = 0; i < 3; i++) await cloud.run();

    expect([cloud.deleted, cloud.tagged, cloud.found()]).toEqual([[], [], []]);
    const { [NODE_ID_TAG]: nodeId, [DATABASE_ID_TAG]: databaseId } = metadata;
    const shown = { type: 'instance', id: 'alien', name: 'np7', nodeId, buildId: undefined, databaseId, sinceMs: 5 };
    expect(cloud.finder.aliens).toEqual([shown]);
  });

  it('is logged once when another database has claimed the resource of a record', async () => {
    const cloud = look('in-use', ['own'], tagsOf({ [DATABASE_ID_TAG]: OTHER_DATABASE }));

    for (let i = 0; i < 3; i++) await cloud.run();

    expect(cloud.lines).toEqual([
      'A resource in use here carries the id of another database, whose launchers may delete it',
    ]);
    expect(cloud.deleted).toEqual([]);
  });

  it('is said once, and again when there are others', async () => {
    const cloud = look('in-use', ['one'], { ...NAMED, [NODE_ID_TAG]: '0000000099' });
    for (let i = 0; i < 3; i++) await cloud.run();
    const first = cloud.lines.length;
    cloud.resources.push({ type: 'instance', id: 'two', metadata: { ...NAMED, [NODE_ID_TAG]: '0000000098' } });
    await cloud.run();
    const atFirstSight = cloud.finder.aliens.length;
    await cloud.run();
    cloud.resources.splice(0);
    await cloud.run();

    expect([first, atFirstSight, cloud.finder.aliens.length]).toEqual([1, 1, 0]);
    expect(cloud.lines).toHaveLength(3);
    expect(cloud.lines[0]).toContain('nodepool adopt cloud');
  });

  // Ends: ResourcesLeaked DatabaseReplaced
  it('is everything when the database was emptied or replaced under the service, until its data is restored', async () => {
    const cloud = look('in-use', ['one'], { ...OURS, [NODE_ID_TAG]: '0000000099' });
    cloud.stored.data = Buffer.from(OTHER_DATABASE);

    for (let i = 0; i < 3; i++) await cloud.run();

    expect(cloud.deleted).toEqual([]);
    const error = expect.stringContaining('its records prove nothing') as string;
    expect(cloud.found()).toMatchObject([{ id: 'one', error, isOfReplacedDatabase: true }]);
    cloud.stored.data = Buffer.from(DATABASE);
    await cloud.run();
    expect(cloud.found().some(({ isOfReplacedDatabase }) => isOfReplacedDatabase)).toBe(false);
  });
});

describe('what was made before there was a database id', () => {
  const volume = (instanceId: string | undefined) => ({
    ...{ type: 'volume', id: 'volume', metadata: NAMED, instanceId, inUse: true },
  });

  it('gets it where a record proves it, once', async () => {
    const cloud = lookAt('in-use', [{ type: 'instance', id: 'own', metadata: NAMED }, volume('own')]);

    for (let i = 0; i < 3; i++) await cloud.run();

    const tag = `{"${DATABASE_ID_TAG}":"${DATABASE}"}`;
    expect(cloud.tagged).toEqual([`own ${tag}`, `volume ${tag}`]);
    expect([cloud.deleted, cloud.finder.aliens]).toEqual([[], []]);
  });

  it.each<[string, NodeState, Resource]>([
    ['while its node is being made', 'building', { type: 'instance', id: 'own', metadata: NAMED }],
    ['when it is attached to nothing', 'in-use', volume(undefined)],
    ['when it is attached to something else', 'in-use', volume('other')],
    [
      'when it is of another database',
      'in-use',
      { type: 'instance', id: 'own', metadata: { ...NAMED, [DATABASE_ID_TAG]: OTHER_DATABASE } },
    ],
  ])('is left as it is %s', async (_when, state, resource) => {
    const cloud = lookAt(state, [resource]);

    for (let i = 0; i < 3; i++) await cloud.run();

    expect([cloud.tagged, cloud.deleted, cloud.finder.aliens]).toEqual([[], [], []]);
  });

  it('is deleted as ours once it was tagged and its record is gone', async () => {
    const cloud = look('in-use', ['own'], NAMED);
    await cloud.run();
    cloud.records.clear();

    await cloud.run();
    await cloud.run();

    expect(cloud.deleted).toEqual(['own']);
  });
});
