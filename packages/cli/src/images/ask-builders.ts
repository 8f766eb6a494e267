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

/**
 * Asks one builder.
 * @param path - with its query
 * @returns `undefined` when it has no such thing, or does not answer: that is mentioned
 */
export async function askBuilder(
  { logger }: Pick<RecordSource, 'logger'>,
  url: string,
  path: string,
  accept: string,
): Promise<Response | undefined> {
  try {
    const response = await fetch(new URL(path, url), { headers: { accept }, signal: AbortSignal.timeout(ANSWER_MS) });
    if (response.ok) return response;
    await response.body?.cancel();
  } catch (error) {
    logger.warn(`Builder at ${url} does not answer: ${describeError(error)}`);
  }
  return undefined;
}
