import { hostname } from 'node:os';
import type { Logger } from '@nodepool/core';
import { fetchService, imageWorkFromJson, LOG_PART_BYTES, tokenProof } from '@nodepool/core/service';
import type { ImageWork } from '@nodepool/core/service';
import { describeError } from '../command/errors.js';
import { fetchComponents } from '../connection/fetch-records.js';
import type { RecordSource } from '../connection/fetch-records.js';
import { registeredUrls } from '../connection/web-urls.js';

/** Time limit for a builder that is busy or gone. */
const ANSWER_MS = 3_000;

const NO_TOKENS = 'it shows this only with a token; put api-tokens into its secure file and that of this command (-s)';
const NO_TOKEN = 'name a secure file with api-tokens (-s)';
const WRONG_TOKEN = 'the first one of api-tokens in the secure file is not among those of the builder';

const OLD_BUILDER =
  'it accepts only the token itself, which this command does not send, as another program may listen there: upgrade that builder';
/** Enough for thousands of builds and uploads. */
const LARGEST_JSON_BYTES = 4 * 1024 * 1024;

/** Web addresses of the registered builders; builders of older versions register none. */
export async function builderUrls(source: RecordSource): Promise<string[]> {
  return registeredUrls(await fetchComponents(source, 'builder'), hostname());
}

/** For a person whose build request waits for a builder. */
export const NO_BUILDER = 'nodepool: no builder is registered; the build starts when one does';

/** Whether a builder is registered. */
export async function hasBuilder(source: RecordSource): Promise<boolean> {
  return (await fetchComponents(source, 'builder')).length > 0;
}

/** The form of an answer. */
export interface AnswerForm<T> {
  readonly accept: string;
  readonly mostBytes: number;
  readonly read: (response: Response) => Promise<T>;
}

/** Any JSON value. */
export const asJson: AnswerForm<unknown> = {
  accept: 'application/json',
  mostBytes: LARGEST_JSON_BYTES,
  read: (response) => response.json(),
};
/** A part of a log, which may be cut anywhere. */
export const asBytes: AnswerForm<Buffer> = {
  accept: 'text/plain',
  mostBytes: LOG_PART_BYTES,
  read: async (response) => Buffer.from(await response.arrayBuffer()),
};

/**
 * Asks one builder.
 * @param path - with its query
 * @param token - never sent, as another program may listen there; a builder that demands a token gets a proof
 * @returns `undefined` when the builder has no such thing (404), or after a warning: no readable answer, a missing or wrong token
 */
export async function askBuilder<T>(
  { logger }: { readonly logger: Pick<Logger, 'warn'> },
  url: string,
  path: string,
  { accept, mostBytes, read }: AnswerForm<T>,
  token?: string,
): Promise<T | undefined> {
  try {
    const address = new URL(path, url);
    const get = (headers: Readonly<Record<string, string>>) =>
      fetchService(address, { headers: { accept, ...headers }, signal: AbortSignal.timeout(ANSWER_MS), mostBytes });
    let response = await get({});
    const nonce = /Nodepool-Proof nonce="(\w+)"/.exec(response.headers.get('www-authenticate') ?? '')?.[1];
    if (response.status === 401 && token !== undefined && nonce !== undefined) {
      await response.body?.cancel();
      const proof = tokenProof(token, nonce, address.pathname + address.search);
      response = await get({ authorization: `Nodepool-Proof ${proof}` });
    }
    if (response.ok) return await read(response);
    await response.body?.cancel();
    if (response.status === 401) logger.warn(`Builder at ${url} demands a token: ${refused(token, nonce)}`);
    else if (response.status === 403) logger.warn(`Builder at ${url} refuses: ${NO_TOKENS}`);
    else if (response.status !== 404) logger.warn(`Builder at ${url} answers with status ${response.status}`);
  } catch (error) {
    logger.warn(`Builder at ${url} gives no answer that can be read: ${describeError(error)}`);
  }
  return undefined;
}

function refused(token: string | undefined, nonce: string | undefined): string {
  if (token === undefined) return NO_TOKEN;
  return nonce === undefined ? OLD_BUILDER : WRONG_TOKEN;
}

/** Current work of all registered builders. Logs a warning for one that does not answer; older ones register no address. */
export async function fetchImageWork(source: RecordSource): Promise<ImageWork[]> {
  const answers = await Promise.all((await builderUrls(source)).map((url) => fetchWorkOf(source, url)));
  return answers.flat();
}

async function fetchWorkOf(source: RecordSource, url: string): Promise<ImageWork[]> {
  return imageWorkFromJson(await askBuilder(source, url, '/image-work', asJson), source.clock.now());
}
