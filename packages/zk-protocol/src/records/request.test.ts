import { describe, expect, it } from 'vitest';
import { loadVectors, NOW_MS, parseBody, present, vectorsOf, type DefaultsVector } from '../../test/vectors.js';
import { lastPart } from './paths.js';
import { compareRequests, decodeRequest, encodeRequest, withRequest } from './request.js';
import type { JsonObject, RequestId } from './types.js';

describe('a request', () => {
  const recode = (path: string, raw: string): JsonObject => {
    const request = decodeRequest(lastPart(path) as RequestId, Buffer.from(raw), undefined, NOW_MS);
    return parseBody(encodeRequest(present(request)));
  };

  it.each(vectorsOf('requests'))('round-trips: %s', (_note, { path, raw, body }) => {
    // Keys that the first writer omitted are added with their defaults.
    expect(recode(path, raw)).toEqual({ declined_by: [], nodes: [], reuse: true, ...body });
  });

  it.each(loadVectors<{ decode_defaults: DefaultsVector[] }>('requests').decode_defaults)(
    'reads a short body: $raw',
    ({ raw, decoded_except_state_time: expected }) => {
      const body = recode('/nodepool/requests/200-0000000001', raw);

      expect(body).toEqual({ ...expected, state_time: body.state_time });
    },
  );

  it('orders by priority text, relative priority and sequence', () => {
    const { input, sorted_ids: expected } = loadVectors<{
      ordering: { input: { id: RequestId; relative_priority: number }[]; sorted_ids: string[] };
    }>('requests').ordering;
    const requests = input.map(({ id, relative_priority }) => ({ id, relativePriority: relative_priority }));

    const compared = [...requests].sort(compareRequests).map(({ id }) => id);

    expect(compared).toEqual(expected);
  });

  it('keeps the decline reasons of other launchers, malformed ones too, and adds its own', () => {
    const others = { 'a-1': { rule: 'quota', text: 'full', time: 5, extra: true }, 'b-1': 'malformed' };
    const body = Buffer.from(JSON.stringify({ state: 'requested', decline_reasons: others }));
    const request = present(decodeRequest('200-1' as RequestId, body, undefined, NOW_MS));
    expect(request.declineReasons).toEqual({ 'a-1': { rule: 'quota', text: 'full', timeMs: 5000 } });

    const own = { 'c-1': { rule: 'label', text: 'unknown', timeMs: 7000 } };
    const changed = withRequest(request, { declineReasons: { ...request.declineReasons, ...own } }, NOW_MS);

    expect(parseBody(encodeRequest(changed)).decline_reasons).toEqual({
      ...others,
      'c-1': { rule: 'label', text: 'unknown', time: 7 },
    });
  });

  it('reads any falsy value as no reuse', () => {
    const reuseOf = (reuse: string) =>
      decodeRequest('200-1' as RequestId, Buffer.from(`{"reuse": ${reuse}}`), undefined, NOW_MS)?.reuse;

    expect(['true', 'false', '0', 'null'].map(reuseOf)).toEqual([true, false, false, false]);
  });
});
