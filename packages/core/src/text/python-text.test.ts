import { decodeNode } from '@nodepool/zk-protocol';
import type { NodeId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { toPythonJson, toPythonRepr } from './python-text.js';

describe('what others wrote into a record', () => {
  const body =
    '{"state": "ready", "user_data": {"id": 187155415299117092971361472410111703496, "n": [1.0, 2, {"x": 1.50}]}}';
  const { userData = null } = decodeNode('1' as NodeId, Buffer.from(body), undefined, 0) ?? {};

  it('is shown with its own digits, as Python does', () => {
    expect(toPythonRepr(userData)).toBe("{'id': 187155415299117092971361472410111703496, 'n': [1.0, 2, {'x': 1.50}]}");
    expect(toPythonJson(userData)).toBe('{"id": 187155415299117092971361472410111703496, "n": [1.0, 2, {"x": 1.50}]}');
  });
});
