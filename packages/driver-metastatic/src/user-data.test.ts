import { describe, expect, it } from 'vitest';
import { newNode } from '@nodepool/zk-protocol';
import type { Json, NodeId } from '@nodepool/zk-protocol';
import { formatBackingData, identityOf, parseBackingData, placeOf } from './user-data.js';

const OWNER = identityOf('meta');
const STORED =
  '{"owner": "NodePool:metastatic:meta", "label": "tiny", "slots": 2, "failed": false, "launched": 1726599950.25}';

describe('user_data of a backing node', () => {
  it('is read as Nodepool writes it', () => {
    expect(parseBackingData(STORED, OWNER)).toEqual({
      owner: OWNER,
      label: 'tiny',
      slots: 2,
      failed: false,
      launchedMs: 1726599950250,
      claims: new Map(),
    });
  });

  it('is written to the letter as Nodepool writes it while no slot is taken', () => {
    const data = parseBackingData(STORED, OWNER);

    expect(data && formatBackingData(data)).toBe(STORED);
  });

  it('keeps the user of each slot', () => {
    const claims = new Map([
      [1, '0000000051' as NodeId],
      [0, '0000000050' as NodeId],
    ]);
    const data = { owner: OWNER, label: 'a "b"', slots: 2, failed: true, launchedMs: 1000, claims };

    const text = formatBackingData(data);

    expect(JSON.parse(text)).toMatchObject({ nodes: { 0: '0000000050', 1: '0000000051' }, failed: true });
    expect(parseBackingData(text, OWNER)).toEqual(data);
  });

  it('without failed and launched is that of an old, working node', () => {
    const text = `{"owner": "${OWNER}", "label": "tiny", "slots": 2}`;

    expect(parseBackingData(text, OWNER)).toMatchObject({ failed: false, launchedMs: 0 });
  });

  it.each([
    null,
    { owner: OWNER, label: 'tiny', slots: 2 },
    OWNER,
    `["${OWNER}"]`,
    `{"owner": "${OWNER}"}`,
    `{"owner": "${OWNER}", "label": 7, "slots": 2}`,
    `{"owner": "${OWNER}", "label": "tiny", "slots": 0}`,
    `{"owner": "${OWNER}2", "label": "tiny", "slots": 2}`,
  ])('is not taken for ours: %j', (userData) => {
    expect(parseBackingData(userData, OWNER)).toBeUndefined();
  });

  it('ignores claims that make no sense', () => {
    const text = `{"owner": "${OWNER}", "label": "tiny", "slots": 2, "nodes": {"0": 7, "x": "a", "1": "0000000009"}}`;

    expect([...(parseBackingData(text, OWNER)?.claims ?? [])]).toEqual([[1, '0000000009']]);
  });
});

describe('the place of a slot node', () => {
  it('is read from driver_data', () => {
    const driverData = { metadata: {}, backing_node: '0000000042', slot: 0, node: '0000000050' };

    expect(placeOf(newNode({ state: 'ready', driverData }, 0))).toEqual({ backingNode: '0000000042', slot: 0 });
  });

  it.each<Json>([null, 'text', [], { slot: 1 }, { backing_node: '1', slot: '1' }])('is none in %j', (driverData) => {
    expect(placeOf(newNode({ state: 'ready', driverData }, 0))).toBeUndefined();
  });
});
