import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@nodepool/zk-protocol';
import { FakeTokens } from '@nodepool/fake-compute';
import { VirtualClock } from '@nodepool/core/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createCredentials } from './credentials.js';

const accepted = new Set<string>();
let dir = '';
let tokens: FakeTokens;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gce-credentials-'));
  tokens = await FakeTokens.start(accepted);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await tokens.stop();
  await rm(dir, { recursive: true });
});

async function file(content: unknown): Promise<string> {
  const path = join(dir, 'credentials.json');
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const tokenOf = (headers: Readonly<Record<string, string>>): string => headers['authorization'] ?? '';

it('exchanges the key of a service account at the address in the key', async () => {
  const credentials = createCredentials(await file(tokens.serviceAccount), systemClock);

  const [first, second] = await Promise.all([credentials.headers(), credentials.headers()]);

  expect(tokenOf(first)).toBe(`Bearer ${tokens.issued[0]}`);
  expect(tokenOf(second)).toBe(tokenOf(first));
  expect(tokens.issued).toHaveLength(1);
});

it('renews a token before it expires', async () => {
  const clock = new VirtualClock();
  const credentials = createCredentials(await file(tokens.serviceAccount), clock);
  const first = tokenOf(await credentials.headers());

  await clock.advance(3_200_000);
  const still = tokenOf(await credentials.headers());
  await clock.advance(200_000);
  const renewed = tokenOf(await credentials.headers());

  expect(still).toBe(first);
  expect(renewed).not.toBe(first);
});

it('reads the file again when its token is refused', async () => {
  const path = await file(tokens.serviceAccount);
  const credentials = createCredentials(path, systemClock);
  await credentials.headers();

  await writeFile(path, '{}');
  await credentials.headers();
  credentials.forget();

  await expect(credentials.headers()).rejects.toMatchObject({ code: 'NODEPOOL_PROVIDER_UNAVAILABLE' });
  await writeFile(path, JSON.stringify(tokens.serviceAccount));
  expect(tokenOf(await credentials.headers())).toBe(`Bearer ${tokens.issued.at(-1)}`);
});

it('takes the tokens of another identity provider', async () => {
  const subject = join(dir, 'subject');
  await writeFile(subject, 'subject');
  const credentials = createCredentials(await file(tokens.externalAccount(subject)), systemClock);

  expect(tokenOf(await credentials.headers())).toBe(`Bearer ${tokens.issued.at(-1)}`);
});

it('uses the file named in the environment when none is configured', async () => {
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', await file(tokens.serviceAccount));

  expect(tokenOf(await createCredentials(undefined, systemClock).headers())).toBe(`Bearer ${tokens.issued.at(-1)}`);
});

it('asks the metadata server on machines inside Google', async () => {
  vi.stubEnv('GCE_METADATA_HOST', tokens.host);
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '');
  vi.stubEnv('HOME', dir);
  vi.stubEnv('CLOUDSDK_CONFIG', dir);
  vi.stubEnv('METADATA_SERVER_DETECTION', 'assume-present');

  expect(tokenOf(await createCredentials(undefined, systemClock).headers())).toBe(`Bearer ${tokens.issued.at(-1)}`);
});

it('says where it has looked for credentials, and how to get some', async () => {
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '');
  vi.stubEnv('HOME', dir);
  vi.stubEnv('CLOUDSDK_CONFIG', dir);
  vi.stubEnv('METADATA_SERVER_DETECTION', 'none');

  await expect(createCredentials(undefined, systemClock).headers()).rejects.toThrow(
    /GOOGLE_APPLICATION_CREDENTIALS is not set.*Run "gcloud auth application-default login"/,
  );
});

it.each([
  ['no JSON', 'not json', /credentials of ".*credentials.json": no access token/],
  ['of no known kind', { type: 'none_such' }, /no access token/],
])('says which file is wrong: %s', async (_what, content, message) => {
  await expect(createCredentials(await file(content), systemClock).headers()).rejects.toThrow(message);
});

it('reports the refusal of the token server without the key', async () => {
  const other = await FakeTokens.start(new Set());
  const stolen = { ...other.serviceAccount, token_uri: `http://${tokens.host}/token` };
  await other.stop();

  const refused: unknown = await createCredentials(await file(stolen), systemClock)
    .headers()
    .catch((error: unknown) => error);

  expect(String(refused)).toMatch(/wrong signature/);
  expect(String(refused)).not.toContain('PRIVATE KEY');
});

it.each([-3_600_000, 3_600_000])('uses a token for its time when the clock is set by %i ms', async (byMs) => {
  const clock = new VirtualClock();
  const credentials = createCredentials(await file(tokens.serviceAccount), clock);
  const first = tokenOf(await credentials.headers());

  clock.set(clock.now() + byMs);
  await clock.advance(3_200_000);
  const still = tokenOf(await credentials.headers());
  await clock.advance(200_000);
  const renewed = tokenOf(await credentials.headers());

  expect(still).toBe(first);
  expect(renewed).not.toBe(first);
});
