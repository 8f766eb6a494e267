import { listOf, mapOf, textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { WEBHOOK_EVENTS, type ApiToken, type WebhookConfig, type WebhookEvent } from '../contract/config.js';
import type { ProblemCollector } from './problems.js';
import { namedEntries } from './raw-values.js';
import { checkWebhookSecrets } from './secret-checks.js';
import { list, name, section } from './schema-parts.js';
import type { SourceDocument } from './source-document.js';
import { didYouMean } from '../text/suggest.js';

/** Minimum length, so that secrets cannot be guessed. */
const SHORTEST_SECRET = 16;
const SHORTEST_KEY = 32;

const EVENTS = {
  type: 'array',
  minItems: 1,
  items: { type: 'string', enum: [...WEBHOOK_EVENTS] },
  description: `Events to send: ${WEBHOOK_EVENTS.map((event) => `\`${event}\``).join(', ')}`,
};

/** Schema of `webhooks` in the main file: URLs that a launcher notifies of events. */
export const WEBHOOKS = list(
  'Addresses to which a launcher sends events, each as a POST with JSON',
  section(
    'Webhook',
    {
      name: name('Name of the webhook, unique in the file', { examples: ['chat'] }),
      url: {
        type: 'string',
        pattern: '^https?://',
        description: 'Where to POST',
        examples: ['https://hooks.example.org/nodepool'],
      },
      events: EVENTS,
    },
    ['name', 'url', 'events'],
  ),
);

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
  webhooks: list(
    'Webhooks of the main file that get a secret',
    section(
      'Webhook secret',
      { name: name('Name of a webhook of the main file'), secret: secret('Sent as `Authorization: Bearer`') },
      ['name', 'secret'],
    ),
  ),
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

/** Reads webhooks with their secrets. Reports a secret for an unknown webhook. */
export function readWebhooks(
  entries: Json | undefined,
  secure: { document: SourceDocument; top: JsonObject } | undefined,
  problems: ProblemCollector,
  main: SourceDocument,
): WebhookConfig[] {
  const known = namedEntries(entries).map(({ name }) => name);
  const secrets = new Map<string, string>();
  for (const { index, name, entry } of namedEntries(secure?.top['webhooks'])) {
    if (secure && !known.includes(name)) {
      const message = `webhook "${name}" is not defined, expected a webhook of the main file${didYouMean(name, known)}`;
      problems.add(secure.document, ['webhooks', index, 'name'], message);
    }
    secrets.set(name, textOf(entry['secret']) ?? '');
  }
  const webhooks = namedEntries(entries).map(({ name, entry }) => ({
    name,
    url: textOf(mapOf(entry)['url']) ?? '',
    events: listOf(entry['events']).filter((event): event is WebhookEvent =>
      WEBHOOK_EVENTS.includes(event as WebhookEvent),
    ),
    secret: secrets.get(name),
  }));
  checkWebhookSecrets(webhooks, { document: main, problems });
  return webhooks;
}
