import { describe, expect, it } from 'vitest';
import { loadVectors, NOW_MS, parseBody, present, vectorsOf, type DefaultsVector } from '../../test/vectors.js';
import { TransitionError } from './errors.js';
import { decodeNode, encodeNode, newNode, withNode } from './node.js';
import { lastPart } from './paths.js';
import type { JsonObject, NodeId } from './types.js';

describe('a node', () => {
  const recode = (path: string, raw: string): Buffer => {
    const node = decodeNode(lastPart(path) as NodeId, Buffer.from(raw), undefined, NOW_MS);
    return encodeNode(present(node));
  };

  it.each(vectorsOf('nodes'))('round-trips: %s', (_note, { path, raw, body }) => {
    expect(parseBody(recode(path, raw))).toEqual(body);
  });

  it.each(vectorsOf('nodes').filter(([, vector]) => !vector.must_keep))(
    'writes keys in order: %s',
    (_note, { path, raw, body }) => {
      expect(Object.keys(parseBody(recode(path, raw)))).toEqual(Object.keys(body));
    },
  );

  it.each(loadVectors<{ vectors: DefaultsVector[] }>('node-decode-defaults').vectors)(
    'reads a short body: $note',
    ({ raw, decoded_except_state_time: expected }) => {
      const { state_time: stateTime, ...rest } = parseBody(recode('/nodepool/nodes/0000000001', raw));

      expect(rest).toEqual(expected);
      expect(stateTime).toBe((JSON.parse(raw) as JsonObject).state_time ?? NOW_MS / 1000);
    },
  );

  it('moves its creation time with the state until it is stored', () => {
    const fresh = newNode({ state: 'init' }, 1000);
    const stored = present(decodeNode('1' as NodeId, encodeNode(fresh), undefined, NOW_MS));

    expect(withNode(fresh, { state: 'building' }, 2000)).toMatchObject({ createdTimeMs: 2000, stateTimeMs: 2000 });
    expect(withNode(stored, { state: 'building' }, 2000)).toMatchObject({ createdTimeMs: 1000, stateTimeMs: 2000 });
    expect(withNode(stored, { comment: 'x' }, 2000)).toMatchObject({ stateTimeMs: 1000 });
  });

  it('has the progress of its launch only while it is made', () => {
    const made = newNode({ state: 'building', launchState: { attempt: 1 } }, 1000);
    const stored = present(decodeNode('1' as NodeId, encodeNode(made), undefined, NOW_MS));
    const ended = withNode(stored, { state: 'ready', launchState: null }, 2000);

    expect(stored.launchState).toEqual({ attempt: 1 });
    expect(parseBody(encodeNode(made))).toMatchObject({ launch_state: { attempt: 1 } });
    expect(parseBody(encodeNode(ended))).not.toHaveProperty('launch_state');
  });

  it('rejects a state change that the actor may not make', () => {
    const node = newNode({ state: 'in-use' }, 1000);

    expect(() => withNode(node, { state: 'ready' }, 2000, 'launcher')).toThrow(TransitionError);
  });
});
