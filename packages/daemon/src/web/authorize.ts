import { createHash, timingSafeEqual } from 'node:crypto';
import type { ApiToken } from '@nodepool/core/config';
import { ApiError } from './api-error.js';

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
