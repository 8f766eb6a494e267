import { newNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { AssignmentPart } from '../plan/types.js';
import { recordsOf, RequestParts } from './request-parts.js';

const nodeOf = (id: string): NodeRecord => ({ ...newNode({ state: 'ready', labels: ['a'] }, 0), id: id as NodeId });
const given = (...parts: AssignmentPart[]) => ({ parts, complete: false, az: null });
const LAUNCH = { kind: 'launch' } as const;
const WAIT = { kind: 'wait' } as const;

describe('the parts of a request', () => {
  it('get what an assignment has for their labels, in their order', () => {
    const parts = new RequestParts(['a', 'b', 'a']);
    const node = nodeOf('1');

    const { reused, toLaunch } = parts.assign(
      given(
        { label: 'a', source: { kind: 'node', node } },
        { label: 'b', source: WAIT },
        { label: 'a', source: LAUNCH },
      ),
    );

    expect([reused, toLaunch]).toEqual([[parts.all[0]], [parts.all[2]]]);
    expect(parts.all.map(({ state }) => state)).toEqual(['working', 'missing', 'working']);
    expect([parts.missingLabels(), parts.nodeIds(), recordsOf(parts.all)]).toEqual([['b'], ['1'], [node]]);
  });

  it('that are missing still get what a later assignment has for them, and no others', () => {
    const parts = new RequestParts(['a', 'a']);
    parts.assign(given({ label: 'a', source: LAUNCH }, { label: 'a', source: WAIT }));

    const { toLaunch } = parts.assign(given({ label: 'a', source: LAUNCH }));
    const more = parts.assign(given({ label: 'a', source: LAUNCH }));

    expect(toLaunch).toEqual([parts.all[1]]);
    expect(more).toEqual({ reused: [], toLaunch: [] });
  });

  it('that are lost are missing again, and a launch that waits for its node hears of it', () => {
    const parts = new RequestParts(['a']);
    parts.assign(given({ label: 'a', source: { kind: 'node', node: nodeOf('1') } }));
    const [part] = parts.all;
    const errors: Error[] = [];
    if (!part) throw new Error('there is no part');
    part.entry = '/entry';
    part.readyChanges = { changes: {}, stored: () => undefined, failed: (error) => void errors.push(error) };
    const held = parts.held().map(({ entry }) => entry);

    parts.lose(part);

    expect([held, parts.held(), parts.nodeIds(), part.readyChanges]).toEqual([['/entry'], [], [], undefined]);
    expect(parts.missingLabels()).toEqual(['a']);
    expect(errors).toMatchObject([{ message: "node 1 is not the request's any more" }]);
  });
});
