import { newNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import {
  BUILD_ID_TAG,
  DATABASE_ID_TAG,
  NODE_CREATED_TAG,
  NODE_ID_TAG,
  PROVIDER_TAG,
  UPLOAD_ID_TAG,
} from '../../contract/instance.js';
import type { Resource } from '../../contract/instance.js';
import { judgeAll, type Verdict } from './judge.js';

const DATABASE = 'a'.repeat(32);
const OURS = { [DATABASE_ID_TAG]: DATABASE };
const THEIRS = { [DATABASE_ID_TAG]: 'b'.repeat(32) };
const NODE = '0000000007' as NodeId;
/** Of the record, and of a node that had its number before an older copy of the database was restored. */
const SAME = { ...OURS, [NODE_CREATED_TAG]: '0' };
const FORMER = { ...OURS, [NODE_CREATED_TAG]: '1764331479123' };

const instance = (id: string, tags: Record<string, string> = {}): Resource => ({
  ...{ type: 'instance', id },
  metadata: { [PROVIDER_TAG]: 'cloud', [NODE_ID_TAG]: NODE, ...tags },
});
const volume = (instanceId: string | undefined, tags: Record<string, string> = {}): Resource => ({
  ...instance('v', tags),
  ...{ type: 'volume', instanceId },
});
const image = (id: string, tags: Record<string, string> = {}): Resource => ({
  ...{ type: 'image', id },
  metadata: { [PROVIDER_TAG]: 'cloud', [BUILD_ID_TAG]: '1', [UPLOAD_ID_TAG]: '2', ...tags },
});
const node = (fields: Partial<NodeRecord>): NodeRecord => ({
  ...newNode({ state: 'ready', labels: ['a'], provider: 'cloud', pool: 'main', ...fields }, 0),
  id: NODE,
});

interface Records {
  readonly node?: NodeRecord;
  /** External id of the recorded image. */
  readonly image?: string;
  readonly hasUpload?: boolean;
  readonly isReady?: boolean;
  readonly databaseId?: string | undefined;
}

function verdictOf(resource: Resource, records: Records, others: readonly Resource[]): Verdict | undefined {
  const { node: record, image: known, hasUpload = false, isReady = true } = records;
  const verdicts = judgeAll([resource, ...others], {
    provider: 'cloud',
    databaseId: 'databaseId' in records ? records.databaseId : DATABASE,
    nodes: new Map(record ? [[record.id, record]] : []),
    images: { ready: isReady, hasUpload: () => hasUpload, hasImage: (_provider, id) => id === known },
  });
  return verdicts.get(resource);
}

const own = node({ externalId: 'i' });
const stopped = node({ state: 'testing', externalId: 'i' });
const building = node({ state: 'building', externalId: 'i' });
const unknown = node({ state: 'building', externalId: null });
const undated = node({ state: 'building', externalId: null, createdTimeMs: null });
const elsewhere = node({ provider: 'other-cloud', externalId: 'i' });

it.each<[Verdict, string, Resource, Records, Resource[]?]>([
  ['other', 'of another provider', instance('i', { [PROVIDER_TAG]: 'other-cloud' }), {}],
  ['other', 'without a provider', { type: 'instance', id: 'i', metadata: {} }, {}],
  [
    'other',
    'with neither a node nor an upload',
    { type: 'image', id: 'm', metadata: { [PROVIDER_TAG]: 'cloud', ...OURS } },
    {},
  ],
  ['leaked', 'ours without a record', instance('i', OURS), {}],
  ['alien', 'unmarked without a record', instance('i'), {}],
  ['alien', 'of another database without a record', instance('i', THEIRS), {}],
  ['alien', 'marked, while our id is not known', instance('i', OURS), { databaseId: undefined }],
  ['leaked', 'ours, the node is in another provider', instance('i', OURS), { node: elsewhere }],
  ['alien', 'unmarked, the node is in another provider', instance('i'), { node: elsewhere }],
  ['kept', 'ours and the instance of its node', instance('i', OURS), { node: own }],
  ['recorded', 'unmarked and the instance of its node', instance('i'), { node: own }],
  ['kept', 'unmarked and the instance of a node that is being made', instance('i'), { node: building }],
  ['kept', 'of another database, yet the instance of its node', instance('i', THEIRS), { node: own }],
  ['alien', 'of another database, not the instance of its node', instance('j', THEIRS), { node: own }],
  ['kept', 'ours, the node has no instance yet', instance('j', OURS), { node: unknown }],
  ['kept', 'unmarked, the node has no instance yet', instance('j'), { node: unknown }],
  ['kept', "ours, the node's instance is not shown", instance('j', OURS), { node: own }],
  ['twin', "ours, the node's instance is shown too", instance('j', OURS), { node: own }, [instance('i', OURS)]],
  ['twin', "ours, the node's stopped instance is shown", instance('j', OURS), { node: stopped }, [instance('i', OURS)]],
  ['kept', 'ours, beside a node that is being made', instance('j', OURS), { node: building }, [instance('i', OURS)]],
  ['alien', "unmarked, the node's instance is shown too", instance('j'), { node: own }, [instance('i')]],
  ['kept', 'ours and of the node, which has no instance yet', instance('j', SAME), { node: unknown }],
  ['leaked', 'ours, of a former node of the number', instance('j', FORMER), { node: unknown }],
  ['leaked', 'ours, of a former node, beside that of the node', instance('j', FORMER), { node: own }],
  ['kept', 'ours, of a former node, yet the instance of the record', instance('i', FORMER), { node: own }],
  ['kept', 'ours, of a node whose record does not say when', instance('j', FORMER), { node: undated }],
  ['alien', 'of a former node and another database', instance('j', { ...FORMER, ...THEIRS }), { node: own }],
  ['leaked', 'a volume of a former node', volume('j', FORMER), { node: own }],
  ['recorded', 'an unmarked volume of the instance of its node', volume('i'), { node: own }],
  ['kept', 'a volume of ours of the instance of its node', volume('i', OURS), { node: own }],
  ['kept', 'a volume of ours of no instance', volume(undefined, OURS), { node: own }, [instance('i', OURS)]],
  ['leaked', 'a volume of ours without a record', volume(undefined, OURS), {}],
  ['alien', 'an unmarked volume without a record', volume(undefined), {}],
  ['kept', 'an image of ours with a record', image('m', OURS), { image: 'm' }],
  ['recorded', 'an unmarked image with a record', image('m'), { image: 'm' }],
  ['leaked', 'an image of ours without a record', image('m', OURS), {}],
  ['alien', 'an unmarked image without a record', image('m'), {}],
  ['alien', 'an image of another database without a record', image('m', THEIRS), {}],
  ['kept', 'an image of ours that is being uploaded', image('m', OURS), { hasUpload: true }],
  ['kept', 'an unmarked image that is being uploaded', image('m'), { hasUpload: true }],
  ['alien', 'an image of another database with the ids of an upload', image('m', THEIRS), { hasUpload: true }],
  ['kept', 'an image of ours while the records are not all known', image('m', OURS), { isReady: false }],
])('%s: %s', (verdict, _description, resource, records, others = []) => {
  expect(verdictOf(resource, records, others)).toBe(verdict);
});
