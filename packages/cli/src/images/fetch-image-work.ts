import { hostname } from 'node:os';
import { imageWorkFromJson } from '@nodepool/core/service';
import type { ImageWork } from '@nodepool/core/service';
import { describeError } from '../command/errors.js';
import { fetchComponents } from '../connection/fetch-records.js';
import type { RecordSource } from '../connection/fetch-records.js';
import { toldUrls } from '../connection/web-urls.js';

/** A builder that is busy or gone does not hold up the others for long. */
const ANSWER_MS = 3_000;

/** What all registered builders are making now. One that does not answer is mentioned; older ones tell no address. */
export async function fetchImageWork(source: RecordSource): Promise<ImageWork[]> {
  const urls = toldUrls(await fetchComponents(source, 'builder'), hostname());
  const answers = await Promise.all(urls.map((url) => ask(source, url)));
  return answers.flat();
}

async function ask({ clock, logger }: RecordSource, url: string): Promise<ImageWork[]> {
  try {
    const headers = { accept: 'application/json' };
    const response = await fetch(new URL('/image-work', url), { headers, signal: AbortSignal.timeout(ANSWER_MS) });
    return imageWorkFromJson(response.ok ? await response.json() : undefined, clock.now());
  } catch (error) {
    logger.warn(`Builder at ${url} cannot be asked what it is at: ${describeError(error)}`);
    return [];
  }
}
