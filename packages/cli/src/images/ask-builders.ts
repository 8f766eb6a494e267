import { hostname } from 'node:os';
import { LOG_PART_BYTES, tokenProof } from '@nodepool/core/service';
import { CliError, describeError } from '../command/errors.js';
import { fetchComponents } from '../connection/fetch-records.js';
import type { RecordSource } from '../connection/fetch-records.js';
import { toldUrls } from '../connection/web-urls.js';

/** A builder that is busy or gone does not hold up the others for long. */
const ANSWER_MS = 3_000;

const NO_TOKEN = 'name a secure file with api-tokens (-s)';
const WRONG_TOKEN = 'the first one of api-tokens in the secure file is not among those of the builder';

const OLD_BUILDER = 'it wants the token itself, which is not sent to whoever listens there: upgrade that builder';

/** Where registered builders answer the web; older ones do not tell. */
export async function builderUrls(source: RecordSource): Promise<string[]> {
  return toldUrls(await fetchComponents(source, 'builder'), hostname());
}

/** In which form an answer is wanted. */
export interface AnswerForm<T> {
  readonly accept: string;
  readonly read: (response: Response) => Promise<T>;
}

/** Whatever JSON it is. */
export const asJson: AnswerForm<unknown> = { accept: 'application/json', read: (response) => response.json() };
/** A part of a log, which may be cut anywhere. */
export const asBytes: AnswerForm<Buffer> = {
  accept: 'text/plain',
  async read(response) {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > LOG_PART_BYTES) throw new CliError(`it is larger than ${LOG_PART_BYTES} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  },
};

/**
 * Asks one builder.
 * @param path - with its query
 * @param token - never sent, as anybody may listen there: proved when the builder demands one; that it is missing or wrong is mentioned
 * @returns `undefined` when it has no such thing, or gives no answer that can be read: the latter is mentioned
 */
export async function askBuilder<T>(
  { logger }: Pick<RecordSource, 'logger'>,
  url: string,
  path: string,
  { accept, read }: AnswerForm<T>,
  token?: string,
): Promise<T | undefined> {
  try {
    const address = new URL(path, url);
    const get = (headers: Readonly<Record<string, string>>) =>
      fetch(address, { headers: { accept, ...headers }, signal: AbortSignal.timeout(ANSWER_MS) });
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
