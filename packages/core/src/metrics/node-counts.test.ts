import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newNode, newRequest, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import { NodeCounts } from './node-counts.js';
import { RequestCounts } from './installation.js';
import '../../test/support/same-examples.js';

const LABELS = ['small', 'big', 'arm'];
const STATES = ['init', 'building', 'ready', 'in-use', 'odd'];

const node = fc
  .record({
    state: fc.constantFrom(...STATES),
    labels: fc.subarray(LABELS),
    provider: fc.constantFrom('one', 'two', null),
  })
  .map(({ state, labels, provider }) => ({ ...newNode({ state: 'init', labels, provider }, 0), state }));

const request = fc
  .record({ state: fc.constantFrom('requested', 'fulfilled'), labels: fc.array(fc.constantFrom(...LABELS)) })
  .map(({ state, labels }) => ({ ...newRequest({ labels }, 0), state }));

/** Changes of records by id; `undefined` removes one. */
const changesOf = <T>(record: fc.Arbitrary<T>) =>
  fc.array(fc.record({ id: fc.nat(5), after: fc.option(record, { nil: undefined }) }), { maxLength: 60 });

function replay<T>(
  changes: { id: number; after: T | undefined }[],
  change: (change: { before: T | undefined; after: T | undefined }) => void,
): T[] {
  const records = new Map<number, T>();
  for (const { id, after } of changes) {
    change({ before: records.get(id), after });
    if (after) records.set(id, after);
    else records.delete(id);
  }
  return [...records.values()];
}

it('counts nodes change by change as a scan of all would', () => {
  fc.assert(
    fc.property(changesOf<NodeRecord>(node), (changes) => {
      const counts = new NodeCounts();

      const nodes = replay(changes, (change) => counts.change(change));

      for (const state of STATES) {
        const inState = nodes.filter((candidate) => candidate.state === state);
        expect(counts.all.of(state)).toBe(inState.length);
        for (const label of LABELS) {
          expect(counts.labels.of(label).of(state)).toBe(inState.filter((n) => n.labels.includes(label)).length);
        }
        for (const provider of ['one', 'two']) {
          expect(counts.providers.of(provider).of(state)).toBe(inState.filter((n) => n.provider === provider).length);
        }
      }
      const used = LABELS.filter((label) => nodes.some((candidate) => candidate.labels.includes(label)));
      expect([...counts.labels.names()].sort()).toEqual(used.sort());
    }),
  );
});

it('counts requests that a pool can serve as a scan of all would', () => {
  fc.assert(
    fc.property(changesOf<RequestRecord>(request), fc.subarray(LABELS), (changes, offered) => {
      const counts = new RequestCounts();

      const requests = replay(changes, (change) => counts.change(change));

      const addressable = requests.filter(({ labels }) => labels.every((label) => offered.includes(label)));
      expect(counts.addressable(new Set(offered))).toBe(addressable.length);
      const fulfilled = requests.filter(({ state }) => state === 'fulfilled').length;
      expect(new Map(counts.byState()).get('fulfilled')).toBe(fulfilled);
    }),
  );
});

it('lists states in a fixed order, and unknown states once they have occurred', () => {
  const counts = new NodeCounts();

  counts.change({ before: undefined, after: { ...newNode({ state: 'init' }, 0), state: 'odd' } });

  expect([...counts.all.states()]).toEqual([
    ...['init', 'building', 'testing', 'ready', 'in-use', 'used', 'hold', 'deleting', 'failed', 'aborted', 'deleted'],
    'odd',
  ]);
});

it('reports whether a change affects a count', () => {
  const counts = new NodeCounts();
  const before = newNode({ labels: ['small'], state: 'ready' }, 0);

  expect(counts.change({ before: undefined, after: before })).toBe(true);
  expect(counts.change({ before, after: { ...before, labels: ['small'], comment: 'x' } })).toBe(false);
  expect(counts.change({ before, after: { ...before, labels: ['big'] } })).toBe(true);
});
