import type { JsonObject } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { checkInsert } from './insert-rules.js';

const ZONE = 'us-central1-a';

const order = (changes: JsonObject = {}): JsonObject => ({
  name: 'np0000000001',
  machineType: `zones/${ZONE}/machineTypes/e2-standard-2`,
  disks: [{ boot: true, initializeParams: { diskType: `zones/${ZONE}/diskTypes/pd-ssd`, diskSizeGb: '10' } }],
  networkInterfaces: [{ network: 'global/networks/default' }],
  ...changes,
});
const spot = (changes: JsonObject): JsonObject =>
  order({ scheduling: { provisioningModel: 'SPOT', automaticRestart: false, ...changes } });
const items = (...all: [string, string][]): JsonObject =>
  order({ metadata: { items: all.map(([key, value]) => ({ key, value })) } });

describe('an insert', () => {
  it.each([
    ['an ordinary one', order()],
    ['labels and tags', order({ labels: { nodepool_node_id: '0000000001', größe: 'groß' }, tags: { items: ['ci'] } })],
    ['a Spot VM', spot({ instanceTerminationAction: 'STOP' })],
    [
      'a limited time',
      order({ scheduling: { maxRunDuration: { seconds: '3600' }, instanceTerminationAction: 'DELETE' } }),
    ],
  ])('is taken: %s', (_what, body) => {
    expect(() => checkInsert(body, ZONE)).not.toThrow();
  });

  it.each([
    ['a name with capitals', order({ name: 'NP1' })],
    ['a name that ends with a dash', order({ name: 'np-' })],
    ['a name of 64 characters', order({ name: `n${'p'.repeat(63)}` })],
    ['no machine type', order({ machineType: '' })],
    ['a label with capitals', order({ labels: { Team: 'ci' } })],
    ['a label key that begins with a digit', order({ labels: { '1st': 'ci' } })],
    ['a label value with a dot', order({ labels: { team: 'ci.example' } })],
    ['a label value of 64 characters', order({ labels: { team: 'x'.repeat(64) } })],
    ['65 labels', order({ labels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`l${i}`, 'x'])) })],
    ['a tag with an underscore', order({ tags: { items: ['ci_node'] } })],
    ['a metadata key with a dot', items(['a.b', ''])],
    ['a metadata key given twice', items(['a', '1'], ['a', '2'])],
    ['a metadata value over 256 KB', items(['a', 'x'.repeat(256 * 1_024 + 1)])],
    ['metadata over 512 KB', items(['a', 'x'.repeat(250_000)], ['b', 'x'.repeat(250_000)], ['c', 'x'.repeat(250_000)])],
    ['no boot disk', order({ disks: [{}] })],
    ['two boot disks', order({ disks: [{ boot: true }, { boot: true }] })],
    ['a disk smaller than its image', order({ disks: [{ boot: true, initializeParams: { diskSizeGb: '5' } }] })],
    [
      'a disk type of another zone',
      order({ disks: [{ boot: true, initializeParams: { diskType: 'zones/us-central1-b/diskTypes/pd-ssd' } }] }),
    ],
    ['no network interface', order({ networkInterfaces: [] })],
    ['a Spot VM that restarts by itself', order({ scheduling: { provisioningModel: 'SPOT' } })],
    ['a Spot VM that migrates', spot({ onHostMaintenance: 'MIGRATE' })],
    ['a termination action without a reason', order({ scheduling: { instanceTerminationAction: 'DELETE' } })],
    ['a limited time without an action', order({ scheduling: { maxRunDuration: { seconds: '3600' } } })],
    ['a time under 30 s', spot({ instanceTerminationAction: 'DELETE', maxRunDuration: { seconds: '29' } })],
    ['a time over 120 days', spot({ instanceTerminationAction: 'DELETE', maxRunDuration: { seconds: '10368001' } })],
  ])('is refused: %s', (_what, body) => {
    expect(() => checkInsert(body, ZONE)).toThrow(/Invalid value for field/);
  });
});
