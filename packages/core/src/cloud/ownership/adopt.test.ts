import { newNode, NodepoolError, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { beforeEach, expect, it } from 'vitest';
import type { Provider } from '../../contract/driver.js';
import { BUILD_ID_TAG, DATABASE_ID_TAG, NODE_ID_TAG, PROVIDER_TAG, UPLOAD_ID_TAG } from '../../contract/instance.js';
import type { Resource } from '../../contract/instance.js';
import { AlienAdoption } from './adopt.js';

const DATABASE = 'a'.repeat(32);
const OTHER = 'b'.repeat(32);
const { signal } = new AbortController();
const instance = (id: string, tags: Record<string, string> = {}): Resource => ({
  ...{ type: 'instance', id },
  metadata: { [PROVIDER_TAG]: 'cloud', [NODE_ID_TAG]: '0000000007', ...tags },
});

let resources: Resource[];
let images: { externalId: string; name: string; ready: boolean; metadata: Record<string, string> }[];
let nodes: Map<string, NodeRecord>;
let isReadable: boolean;
let nowMs: number;
let tagged: string[];
/** Called while the records are read again. */
let meanwhile: () => void;

beforeEach(() => {
  resources = [];
  images = [];
  nodes = new Map();
  isReadable = true;
  nowMs = 0;
  tagged = [];
  meanwhile = () => undefined;
});

function adoption(): AlienAdoption {
  const provider = {
    listResources: () => Promise.resolve(resources),
    listImages: () => Promise.resolve(images),
    tagResource: ({ type, id }: Resource, tags: Resource['metadata']) => {
      if (id === 'vanishing') return Promise.reject(new NodepoolError('NODEPOOL_NOT_FOUND', 'gone'));
      tagged.push(`${type} ${id} ${JSON.stringify(tags)}`);
      return Promise.resolve();
    },
  } as unknown as Provider;
  return new AlienAdoption({
    provider,
    clock: { now: () => nowMs },
    evidence: {
      ...{ provider: 'cloud', databaseId: DATABASE, nodes },
      images: { ready: true, hasUpload: () => false, hasImage: (_provider, id) => id === 'known' },
    },
    reread: () => {
      meanwhile();
      return Promise.resolve(isReadable);
    },
  });
}

it('finds what carries the name of the provider and neither a record nor the own id, images included', async () => {
  const upload = { [PROVIDER_TAG]: 'cloud', [BUILD_ID_TAG]: 'f', [UPLOAD_ID_TAG]: '1' };
  resources = [
    instance('a'),
    instance('b', { [DATABASE_ID_TAG]: DATABASE }),
    instance('c', { [PROVIDER_TAG]: 'other' }),
  ];
  images = ['known', 'm'].map((externalId) => ({ externalId, name: `${externalId}-1`, ready: true, metadata: upload }));

  const found = await adoption().find(signal);

  expect(found).toEqual([
    { type: 'instance', id: 'a', nodeId: '0000000007', sinceMs: 0 },
    { type: 'image', id: 'm', name: 'm-1', buildId: 'f', sinceMs: 0 },
  ]);
});

it('writes the id of this database on it', async () => {
  resources = [instance('a')];
  const handing = adoption();
  const [alien] = await handing.find(signal);

  expect(alien && (await handing.adopt(alien, false, signal))).toBe('adopted');
  expect(tagged).toEqual([`instance a {"${DATABASE_ID_TAG}":"${DATABASE}"}`]);
});

it.each<[string, () => void, string]>([
  ['has got a record meanwhile', () => nodes.set('0000000007', record('a')), 'recorded'],
  ['has a record that cannot be read', () => (isReadable = false), 'unreadable'],
])('tags nothing that %s', async (_what, change, expected) => {
  resources = [instance('a')];
  const handing = adoption();
  const [alien] = await handing.find(signal);
  meanwhile = change;

  expect(alien && (await handing.adopt(alien, true, signal))).toBe(expected);
  expect(tagged).toEqual([]);
});

it('reads the cloud again before tagging, and skips missing and already tagged resources', async () => {
  resources = [instance('a'), instance('b'), instance('vanishing')];
  const handing = adoption();
  const [a, b, vanishing] = await handing.find(signal);
  nowMs += 60_000;
  resources = [instance('b', { [DATABASE_ID_TAG]: DATABASE }), instance('vanishing')];

  expect(a && (await handing.adopt(a, true, signal))).toBe('gone');
  expect(b && (await handing.adopt(b, true, signal))).toBe('recorded');
  expect(vanishing && (await handing.adopt(vanishing, true, signal))).toBe('gone');
  expect(tagged).toEqual([]);
});

it('takes what carries the id of another database only by force', async () => {
  resources = [instance('a', { [DATABASE_ID_TAG]: OTHER })];
  const handing = adoption();
  const [alien] = await handing.find(signal);

  expect(alien && (await handing.adopt(alien, false, signal))).toBe('other-database');
  expect(tagged).toEqual([]);
  expect(alien && (await handing.adopt(alien, true, signal))).toBe('adopted');
});

function record(externalId: string): NodeRecord {
  return { ...newNode({ state: 'ready', provider: 'cloud', externalId }, 0), id: '0000000007' as NodeId };
}
