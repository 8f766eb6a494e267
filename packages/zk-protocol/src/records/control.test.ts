import { describe, expect, it } from 'vitest';
import type { Stat } from '../client/contract/types.js';
import {
  controlId,
  controlPath,
  decodeControl,
  describeControl,
  encodeControl,
  isInForce,
  newControl,
} from './control.js';

const control = newControl(
  { kind: 'pool', name: 'rack/main', mode: 'limit', limit: 3, owner: 'alice', endTimeMs: 5000 },
  1500,
);

describe('a control', () => {
  it('has its kind and encoded name in its path', () => {
    expect(controlPath(control)).toBe('/nodepool/controls/pool/rack%2Fmain');
  });

  it('is read as written', () => {
    const read = decodeControl(controlId(control), encodeControl(control), undefined);

    expect({ ...read, raw: {} }).toEqual({ ...control, raw: {} });
  });

  it('keeps unknown keys', () => {
    const read = decodeControl('label/a', Buffer.from('{"mode":"pause","owner":"bob","ticket":7}'), undefined);

    expect(read && JSON.parse(encodeControl(read).toString())).toMatchObject({ mode: 'pause', ticket: 7 });
  });

  it.each([
    ['an unknown mode as a pause', 'label/a', '{"mode":"halve"}', { mode: 'pause', owner: '', reason: '' }],
    ['a name that is not encoded', 'label/50%', '{"mode":"drain"}', { name: '50%', mode: 'drain' }],
    ['no control of an unknown kind', 'zone/a', '{"mode":"pause"}', undefined],
    ['no control without a body', 'label/a', '', undefined],
  ])('reads %s', (_what, id, body, expected) => {
    const read = decodeControl(id, Buffer.from(body), undefined);

    if (expected === undefined) expect(read).toBeUndefined();
    else expect(read).toMatchObject(expected);
  });

  const HOUR_MS = 3_600_000;
  it.each([
    ['an hour behind', -HOUR_MS, 0],
    ['an hour ahead', HOUR_MS, 0],
    ['half a minute ahead', 30_000, 30_000],
  ])('lasts for as long as its writer said, whose clock was %s', (_what, aheadMs, leftMs) => {
    const writtenMs = 10 * HOUR_MS;
    const [createdTimeMs, endTimeMs] = [writtenMs + aheadMs, writtenMs + aheadMs + 600_000];
    const stat = { mtime: writtenMs } as Stat;

    const read = decodeControl(controlId(control), encodeControl({ ...control, createdTimeMs, endTimeMs }), stat);

    expect(read).toMatchObject({ createdTimeMs: writtenMs + leftMs, endTimeMs: writtenMs + leftMs + 600_000 });
  });

  it('rejects a value of the wrong type', () => {
    expect(() => decodeControl('label/a', Buffer.from('{"limit":"many"}'), undefined)).toThrow(/control label\/a/);
  });

  it('is in force until it expires', () => {
    expect([4999, 5000].map((nowMs) => isInForce(control, nowMs))).toEqual([true, false]);
    expect(isInForce({ endTimeMs: null }, Number.MAX_SAFE_INTEGER)).toBe(true);
  });

  it('describes its effect', () => {
    expect(describeControl({ ...control, reason: 'invoice' })).toBe(
      'limited to 3 by alice until 1970-01-01T00:00:05.000Z: invoice',
    );
    expect(describeControl({ ...control, mode: 'drain', endTimeMs: null })).toBe('drained by alice');
  });
});
