import { describe, expect, it } from 'vitest';
import { isHalfOver, lifeOf } from './token.js';

const tokenOf = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

describe('the token of a node', () => {
  it('has a lifetime', () => {
    expect(lifeOf(tokenOf({ iat: 100, exp: 4_100 }))).toEqual({ issuedMs: 100_000, expiresMs: 4_100_000 });
  });

  it.each(['', 'opaque', 'a.b.c', tokenOf({ sub: 'legacy' }), tokenOf({ iat: 'x', exp: 1 })])(
    'has no known end: %s',
    (token) => {
      expect(lifeOf(token)).toBeUndefined();
    },
  );

  it('is too old for a new job when half of its life is over', () => {
    const connectionPort = { token: tokenOf({ iat: 0, exp: 1_000 }) };

    expect(isHalfOver({ connectionPort }, 499_999)).toBe(false);
    expect(isHalfOver({ connectionPort }, 500_000)).toBe(true);
    expect(isHalfOver({ connectionPort: 22 }, 500_000)).toBe(false);
    expect(isHalfOver({ connectionPort: null }, 500_000)).toBe(false);
    expect(isHalfOver({ connectionPort: { token: 'opaque' } }, 500_000)).toBe(false);
  });
});
