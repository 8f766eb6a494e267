import { hostname } from 'node:os';
import { describeError } from '../command/errors.js';
import { fetchComponents } from '../connection/fetch-records.js';
import type { RecordSource } from '../connection/fetch-records.js';
import { toldUrls } from '../connection/web-urls.js';

/** A builder that is busy or gone does not hold up the others for long. */
const ANSWER_MS = 3_000;

const NO_TOKEN = 'name a secure file with api-tokens (-s)';
const WRONG_TOKEN = 'the first one of api-tokens in the secure file is not among those of the builder';

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
/** Text that may be cut anywhere. */
export const asBytes: AnswerForm<Buffer> = {
  accept: 'text/plain',
  read: async (response) => Buffer.from(await response.arrayBuffer()),
};

/**
 * Asks one builder.
 * @param path - with its query
 * @param token - sent when the builder demands one; that it is missing or wrong is mentioned
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
    const get = (headers: Readonly<Record<string, string>>) =>
      fetch(new URL(path, url), { headers: { accept, ...headers }, signal: AbortSignal.timeout(ANSWER_MS) });
    let response = await get({});
    if (response.status === 401 && token !== undefined) {
      await response.body?.cancel();
      response = await get({ authorization: `Bearer ${token}` });
    }
    if (response.ok) return await read(response);
    await response.body?.cancel();
    if (response.status === 401)
      logger.warn(`Builder at ${url} demands a token: ${token === undefined ? NO_TOKEN : WRONG_TOKEN}`);
    else if (response.status !== 404) logger.warn(`Builder at ${url} answers with status ${response.status}`);
  } catch (error) {
    logger.warn(`Builder at ${url} gives no answer that can be read: ${describeError(error)}`);
  }
  return undefined;
}
