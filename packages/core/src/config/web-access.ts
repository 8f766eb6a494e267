import { listOf, textOf, type JsonObject } from '@nodepool/zk-protocol';
import type { ApiToken } from '../contract/config.js';
import { namedEntries } from './raw-values.js';
import { list, name, section } from './schema-parts.js';

/** Minimum length, so that secrets cannot be guessed. */
const SHORTEST_SECRET = 16;
const SHORTEST_KEY = 32;

/** Schema of `webhooks`, in both files. */
export const WEBHOOKS = {
  type: 'array',
  description: 'Without effect; see alerts in docs/monitoring.md',
  deprecated: true,
};

const secret = (description: string) => ({ type: 'string', minLength: SHORTEST_SECRET, 'x-secret': true, description });

/** Keys of the secure file only. */
export const WEB_SECRETS = {
  'api-tokens': list(
    'Tokens for writing through the web API and reading build logs; without any, the API is read-only and build logs are public',
    section(
      'API token',
      { name: name('Owner of the token, for the audit lines in the log'), token: secret('Bearer token') },
      ['name', 'token'],
    ),
  ),
  'token-keys': {
    type: 'array',
    items: { ...secret('Key, e.g. of `openssl rand -hex 32`'), minLength: SHORTEST_KEY },
    description:
      'Keys that sign the tokens of `nodepool token`: the first signs, all are accepted. Needed with `zookeeper-servers`; ' +
      'the launcher with the embedded server has one in its state directory',
  },
  webhooks: { ...WEBHOOKS, 'x-secret': true },
};

/** Reads the tokens for writing through the web API, from the secure file only. */
export function readApiTokens(secureTop: JsonObject | undefined): ApiToken[] {
  return namedEntries(secureTop?.['api-tokens']).map(({ name, entry }) => ({
    name,
    token: textOf(entry['token']) ?? '',
  }));
}

/** Reads the keys that sign tokens for leases, from the secure file only. */
export function readTokenKeys(secureTop: JsonObject | undefined): string[] {
  return listOf(secureTop?.['token-keys']).flatMap((key) => textOf(key) ?? []);
}
