import { describe, expect, it } from 'vitest';
import {
  controlId,
  controlPath,
  decodeControl,
  describeControl,
  encodeControl,
  isInForce,
  newControl,
} from '../src/index.js';

const order = newControl(
  { kind: 'pool', name: 'rack/main', mode: 'limit', limit: 3, owner: 'alice', endTimeMs: 5000 },
  1500,
);

describe('an order of an operator', () => {
  it('has its kind and encoded name in its path', () => {
    expect(controlPath(order)).toBe('/nodepool/controls/pool/rack%2Fmain');
  });

  it('is read as it was written', () => {
    const read = decodeControl(controlId(order), encodeControl(order), undefined);

    expect({ ...read, raw: {} }).toEqual({ ...order, raw: {} });
  });

  it('keeps keys that others wrote', () => {
    const read = decodeControl('label/a', Buffer.from('{"mode":"pause","owner":"bob","ticket":7}'), undefined);

    expect(read && JSON.parse(encodeControl(read).toString())).toMatchObject({ mode: 'pause', ticket: 7 });
  });

  it.each([
    ['a mode of a later release pauses', 'label/a', '{"mode":"halve"}', { mode: 'pause', owner: '', reason: '' }],
    ['a name by hand', 'label/50%', '{"mode":"drain"}', { name: '50%', mode: 'drain' }],
    ['a kind of a later release', 'zone/a', '{"mode":"pause"}', undefined],
    ['no body', 'label/a', '', undefined],
  ])('understands %s', (_what, id, body, expected) => {
    const read = decodeControl(id, Buffer.from(body), undefined);

    if (expected === undefined) expect(read).toBeUndefined();
    else expect(read).toMatchObject(expected);
  });

  it('refuses a value of the wrong type', () => {
    expect(() => decodeControl('label/a', Buffer.from('{"limit":"many"}'), undefined)).toThrow(/control label\/a/);
  });

  it('is in force until its end', () => {
    expect([4999, 5000].map((nowMs) => isInForce(order, nowMs))).toEqual([true, false]);
    expect(isInForce({ endTimeMs: null }, Number.MAX_SAFE_INTEGER)).toBe(true);
  });

  it('says what it does', () => {
    expect(describeControl({ ...order, reason: 'invoice' })).toBe(
      'limited to 3 by alice until 1970-01-01T00:00:05.000Z: invoice',
    );
    expect(describeControl({ ...order, mode: 'drain', endTimeMs: null })).toBe('drained by alice');
  });
});
