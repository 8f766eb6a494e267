import type { Json, NodeRecord } from '@nodepool/core';

/** Lifetime of a token, ms since the epoch. */
export interface TokenLife {
  readonly issuedMs: number;
  readonly expiresMs: number;
}

/** Lifetime of a service account token; `undefined`: it has no end, or is not a token of this kind. */
export function lifeOf(token: string): TokenLife | undefined {
  const [, claims = ''] = token.split('.');
  try {
    const { iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as { iat?: Json; exp?: Json };
    if (typeof iat !== 'number' || typeof exp !== 'number') return undefined;
    return { issuedMs: iat * 1_000, expiresMs: exp * 1_000 };
  } catch {
    return undefined;
  }
}

/** Whether half of the life of a node's token is over, so that a job that takes it now may not end in time. */
export function isHalfOver({ connectionPort }: Pick<NodeRecord, 'connectionPort'>, nowMs: number): boolean {
  if (typeof connectionPort !== 'object' || connectionPort === null || Array.isArray(connectionPort)) return false;
  const { token } = connectionPort;
  const life = typeof token === 'string' ? lifeOf(token) : undefined;
  return life !== undefined && nowMs >= (life.issuedMs + life.expiresMs) / 2;
}
