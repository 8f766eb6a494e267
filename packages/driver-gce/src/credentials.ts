import { createSign } from 'node:crypto';
import { ProviderUnavailableError, type Clock } from '@nodepool/core';
import { steadyNow } from '@nodepool/zk-protocol';
import { GoogleAuth, type AuthClient } from 'google-auth-library';
import { EnvHttpProxyAgent, request } from 'undici';

/** Credentials of the driver. */
export interface Credentials {
  /** Headers of a call. Tokens are cached until shortly before they expire. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Drops cached tokens and files after Google refused the last headers. */
  forget(): void;
}

const SCOPES = ['https://www.googleapis.com/auth/compute'];
const GOOGLE_TOKEN_URI = 'https://oauth2.googleapis.com/token';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const LIFE_S = 3_600;
/** Remaining lifetime at which a token is renewed. */
const MARGIN_MS = 300_000;
const TOKEN_TIMEOUT_MS = 30_000;
const NOTHING_FOUND =
  'GOOGLE_APPLICATION_CREDENTIALS is not set, gcloud has stored none, and no metadata server of Google answers. ' +
  'Run "gcloud auth application-default login", or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account';

/** A key file of a service account. */
interface ServiceAccountKey {
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly token_uri: string;
}

/**
 * Application Default Credentials: the file, else the environment (`GOOGLE_APPLICATION_CREDENTIALS`, gcloud, the metadata
 * server). Reads all types of files: service account, external account, impersonation, user.
 */
export function createCredentials(file: string | undefined, clock: Clock): Credentials {
  let source: Promise<() => Promise<Record<string, string>>> | undefined;
  return {
    async headers() {
      source ??= open(file, clock);
      try {
        const getHeaders = await source;
        const headers = await getHeaders();
        if ('authorization' in headers) return headers;
        throw new Error('they contain no API credentials');
      } catch (error) {
        source = undefined;
        const where = file === undefined ? 'Application Default Credentials' : `credentials of "${file}"`;
        const text = error instanceof Error ? error.message : String(error);
        const why = text.startsWith('Could not load the default credentials') ? NOTHING_FOUND : text;
        throw new ProviderUnavailableError(`${where}: no access token: ${why}`, { cause: error });
      }
    },
    forget() {
      source = undefined;
    },
  };
}

async function open(file: string | undefined, clock: Clock): Promise<() => Promise<Record<string, string>>> {
  const auth = new GoogleAuth({ scopes: SCOPES, ...(file !== undefined && { keyFilename: file }) });
  const client: AuthClient = await auth.getClient();
  const key: unknown = auth.jsonContent;
  // The library ignores `token_uri` of the file.
  if (isServiceAccountKey(key) && key.token_uri !== GOOGLE_TOKEN_URI) return tokensOf(key, clock);
  return async () => Object.fromEntries(await client.getRequestHeaders());
}

function isServiceAccountKey(value: unknown): value is ServiceAccountKey {
  const names = ['client_email', 'private_key', 'token_uri'];
  return typeof value === 'object' && value !== null && names.every((name) => name in value);
}

/** Exchanges a signed assertion for tokens at `token_uri` of the key. https://datatracker.ietf.org/doc/html/rfc7523 */
function tokensOf(key: ServiceAccountKey, clock: Clock): () => Promise<Record<string, string>> {
  let token: { readonly value: string; readonly untilMs: number } | undefined; // steady time
  let asked: Promise<{ value: string; untilMs: number }> | undefined;
  return async () => {
    if (!token || token.untilMs - MARGIN_MS < steadyNow(clock)) {
      asked ??= askToken(key, clock).finally(() => (asked = undefined));
      token = await asked;
    }
    return { authorization: `Bearer ${token.value}` };
  };
}

async function askToken(key: ServiceAccountKey, clock: Clock): Promise<{ value: string; untilMs: number }> {
  const dispatcher = new EnvHttpProxyAgent();
  const askedMs = steadyNow(clock);
  try {
    const { statusCode, body } = await request(key.token_uri, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: GRANT, assertion: signStatement(key, clock.now()) }).toString(),
      headersTimeout: TOKEN_TIMEOUT_MS,
      bodyTimeout: TOKEN_TIMEOUT_MS,
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${key.token_uri} answers ${statusCode}: ${text.slice(0, 200)}`);
    return tokenIn(text, key.token_uri, askedMs);
  } finally {
    await dispatcher.destroy();
  }
}

function tokenIn(text: string, uri: string, askedMs: number): { value: string; untilMs: number } {
  const { access_token: value, expires_in: seconds } = JSON.parse(text) as {
    access_token?: string;
    expires_in?: number;
  };
  if (value === undefined) throw new Error(`${uri} returned no access_token`);
  return { value, untilMs: askedMs + (seconds ?? LIFE_S) * 1_000 };
}

function signStatement(key: ServiceAccountKey, nowMs: number): string {
  const issuedS = Math.floor(nowMs / 1_000);
  const header = { alg: 'RS256', typ: 'JWT', kid: key.private_key_id };
  const claims = {
    iss: key.client_email,
    scope: SCOPES.join(' '),
    aud: key.token_uri,
    iat: issuedS,
    exp: issuedS + LIFE_S,
  };
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${parts}.${createSign('RSA-SHA256').update(parts).sign(key.private_key, 'base64url')}`;
}

/** The project that the credentials or the environment name; `undefined`: none. */
export async function findProject(file: string | undefined): Promise<string | undefined> {
  const auth = new GoogleAuth({ scopes: SCOPES, ...(file !== undefined && { keyFilename: file }) });
  return auth.getProjectId().catch(() => undefined);
}
