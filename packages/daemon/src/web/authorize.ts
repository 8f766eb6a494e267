import { createHash, timingSafeEqual } from 'node:crypto';
import type { ApiToken } from '@nodepool/core/config';
import { ApiError } from './api-error.js';
import type { Caller, Credentials } from './gate.js';

const digest = (text: string) => createHash('sha256').update(text).digest();

/**
 * Finds the owner of a token. Takes the same time for every wrong token.
 * @returns the name of the token
 * @throws ApiError 403 without any token in the configuration, 401 for a missing or wrong one
 */
export function authorize(header: string | undefined, tokens: readonly ApiToken[]): string {
  if (tokens.length === 0) {
    throw new ApiError(403, 'writes-off', 'Writes are disabled: add api-tokens to the secure file to enable them');
  }
  const [, given = ''] = /^Bearer +(\S+)$/i.exec(header ?? '') ?? [];
  const presented = digest(given);
  let found: string | undefined;
  for (const { name, token } of tokens) {
    if (timingSafeEqual(presented, digest(token))) found = name;
  }
  if (given === '' || found === undefined) {
    throw new ApiError(401, 'bad-token', 'The token is missing or wrong: send Authorization: Bearer TOKEN');
  }
  return found;
}

/** Finds out who calls. @throws ApiError */
type Check = (credentials: Credentials) => Caller;

/**
 * Finds the operator who calls.
 * @param others - checks of operations that have other callers, too
 * @throws ApiError 403 for a caller whom only `others` know, as {@link authorize} otherwise
 */
export function authorizeOperator(
  credentials: Credentials,
  tokens: readonly ApiToken[],
  others: ReadonlySet<Check>,
): Caller {
  try {
    return { name: authorize(credentials.authorization, tokens) };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    const other = knownTo(others, credentials);
    if (!other) throw error;
    const text = `"${other.name}" may lease, but not do this: it needs a token of an operator, one of api-tokens in the secure file`;
    throw new ApiError(403, 'not-operator', text);
  }
}

/** @throws ApiError 429 for too many calls, 503 while it is not known yet */
function knownTo(checks: ReadonlySet<Check>, credentials: Credentials): Caller | undefined {
  if (credentials.authorization === undefined && credentials.localUser === undefined) return undefined;
  for (const check of checks) {
    try {
      return check(credentials);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
    }
  }
  return undefined;
}
