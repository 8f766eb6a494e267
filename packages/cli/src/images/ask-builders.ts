import { hostname } from 'node:os';
import { describeError } from '../command/errors.js';
import { fetchComponents } from '../connection/fetch-records.js';
import type { RecordSource } from '../connection/fetch-records.js';
import { toldUrls } from '../connection/web-urls.js';

/** A builder that is busy or gone does not hold up the others for long. */
const ANSWER_MS = 3_000;

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
 * @returns `undefined` when it has no such thing, or gives no answer that can be read: the latter is mentioned
 */
export async function askBuilder<T>(
  { logger }: Pick<RecordSource, 'logger'>,
  url: string,
  path: string,
  { accept, read }: AnswerForm<T>,
): Promise<T | undefined> {
  try {
    const response = await fetch(new URL(path, url), { headers: { accept }, signal: AbortSignal.timeout(ANSWER_MS) });
    if (response.ok) return await read(response);
    await response.body?.cancel();
    if (response.status !== 404) logger.warn(`Builder at ${url} answers with status ${response.status}`);
  } catch (error) {
    logger.warn(`Builder at ${url} gives no answer that can be read: ${describeError(error)}`);
  }
  return undefined;
}
