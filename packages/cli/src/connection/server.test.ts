import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RefusedError, UnreachableError } from '@nodepool/client';
import { silentLogger } from '@nodepool/core';
import { patientClock } from '@nodepool/zk-protocol';
import { beforeAll, expect, it } from 'vitest';
import { globalOptions } from '../command/global-options.js';
import { UsageError } from '../command/usage-error.js';
import { createClient, findServer, serverError, withServer, type ServerArguments } from './server.js';

const URL = 'https://nl01:8005';
const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
let tokenFile: string;
let caFile: string;
let emptyFile: string;

beforeAll(() => {
  const directory = mkdtempSync(join(tmpdir(), 'nodepool-server-'));
  tokenFile = join(directory, 'a token');
  writeFileSync(tokenFile, 'alice.secret\n');
  caFile = join(directory, 'ca.pem');
  writeFileSync(caFile, PEM);
  emptyFile = join(directory, 'empty');
  writeFileSync(emptyFile, '\n');
  return () => rmSync(directory, { recursive: true });
});

const contextOf = (env: Record<string, string> = {}, options: object = {}) => ({
  ...{ env, logger: silentLogger, clock: patientClock, options: globalOptions({ _: [], format: 'table', ...options }) },
});
const find = (args: Partial<ServerArguments>, env?: Record<string, string>, options?: object) =>
  findServer(contextOf(env, options), {
    url: undefined,
    tokenFile: undefined,
    caFile: undefined,
    isInsecure: false,
    ...args,
  });

it('is named by options, or by the environment', async () => {
  expect(await find({ url: URL, tokenFile })).toEqual({
    ...{ url: URL, token: 'alice.secret', ca: undefined, isInsecure: false },
    options: ` --server ${URL} --token-file '${tokenFile}'`,
  });
  const env = { NODEPOOL_SERVER: URL, NODEPOOL_TOKEN_FILE: tokenFile, NODEPOOL_TOKEN: 'other', NODEPOOL_CA: caFile };
  expect(await find({}, env)).toEqual({ url: URL, token: 'alice.secret', ca: PEM, isInsecure: false, options: '' });
  expect(await find({}, { NODEPOOL_SERVER: URL, NODEPOOL_TOKEN: 'other' })).toMatchObject({ token: 'other' });
});

it('gets no token over plain HTTP from another computer, unless that is asked for', async () => {
  const server = { url: 'http://nl01:8005', token: 'alice.secret', ca: undefined, isInsecure: false, options: '' };

  expect(() => createClient(server, contextOf())).toThrow(/was not sent.* Here: --insecure, or NODEPOOL_INSECURE=1$/);
  expect(createClient({ ...server, isInsecure: true }, contextOf()).url).toBe(server.url);
  expect(await find({ url: URL, isInsecure: true })).toMatchObject({ options: ` --server ${URL} --insecure` });
  expect(await find({}, { NODEPOOL_SERVER: URL, NODEPOOL_INSECURE: '1' })).toMatchObject({ isInsecure: true });
});

it('is not used when ZooKeeper is named', async () => {
  expect(await find({}, { NODEPOOL_SERVER: URL }, { c: 'nodepool.yaml' })).toBeUndefined();
  expect(await find({}, { NODEPOOL_SERVER: '' })).toBeUndefined();
});

it.each([
  [{ url: URL }, { 'state-dir': '/x' }, '--server leases without ZooKeeper: leave out -c and --state-dir'],
  [{ tokenFile: 'x' }, {}, '--token-file needs a server: --server URL, or NODEPOOL_SERVER'],
  [{ caFile: 'x' }, {}, '--ca needs a server'],
  [{ url: URL, tokenFile: '/no/such' }, {}, 'Cannot read the token (--token-file, NODEPOOL_TOKEN_FILE): ENOENT'],
])('refuses %j with %j', async (args, options, message) => {
  await expect(find(args, {}, options)).rejects.toThrow(message);
});

it('names the file that holds no token, or no certificate', async () => {
  await expect(find({ url: URL, tokenFile: emptyFile })).rejects.toThrow(
    `${emptyFile} (--token-file, NODEPOOL_TOKEN_FILE) is empty: store there what "nodepool token create" printed`,
  );
  await expect(find({ url: URL, tokenFile: caFile })).rejects.toThrow('has more than one word of ASCII letters');
  await expect(find({ url: URL, caFile: tokenFile })).rejects.toThrow(
    `${tokenFile} (--ca, NODEPOOL_CA) has no certificate`,
  );
});

it('reports a malformed address as an error of the command line', () => {
  const server = { url: 'nl01', token: undefined, ca: undefined, isInsecure: false, options: '' };

  expect(() => createClient(server, contextOf())).toThrow(UsageError);
  expect(() => createClient({ ...server, url: 'https://alice:hidden@nl01' }, contextOf())).toThrow(
    /^The address "https:\/\/nl01\/" has a user or a password: .* \(--server, NODEPOOL_SERVER\)$/,
  );
});

it('refuses a file name in place of a token, without showing it', async () => {
  await expect(find({}, { NODEPOOL_SERVER: URL, NODEPOOL_TOKEN: 'a secret' })).rejects.toThrow(
    /^NODEPOOL_TOKEN has more than one word of ASCII letters/,
  );
});

it('says what a user of the command line can do about a refusal', () => {
  const texts = [
    serverError(new RefusedError(401, 'bad-token', 'The token is wrong')),
    serverError(new RefusedError(403, 'insecure', 'A token over plain HTTP is refused')),
    serverError(new UnreachableError('Cannot reach it', true)),
  ].map((error) => (error as Error).message);

  expect(texts).toEqual([
    'The token is wrong. Name the file with your token: --token-file FILE, or NODEPOOL_TOKEN_FILE',
    'A token over plain HTTP is refused. Here: --server with https://',
    'Cannot reach it. No launcher answers there: start nodepool-launcher, or name another one with --server',
  ]);
});

it('translates errors of a use, and only those of the client', async () => {
  const server = { url: URL, token: undefined, ca: undefined, isInsecure: false, options: '' };
  const use = (error: Error) => withServer(server, contextOf(), () => Promise.reject(error));

  await expect(use(new RefusedError(404, 'unknown-lease', 'There is none'))).rejects.toMatchObject({
    code: 'NODEPOOL_CLI',
  });
  await expect(use(new TypeError('broken'))).rejects.toThrow(TypeError);
});
