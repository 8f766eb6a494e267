import { imageWorkFromJson } from '@nodepool/core/service';
import type { ImageWork } from '@nodepool/core/service';
import type { RecordSource } from '../connection/fetch-records.js';
import { asJson, askBuilder, builderUrls } from './ask-builders.js';

/** What all registered builders are making now. One that does not answer is mentioned; older ones tell no address. */
export async function fetchImageWork(source: RecordSource): Promise<ImageWork[]> {
  const answers = await Promise.all((await builderUrls(source)).map((url) => ask(source, url)));
  return answers.flat();
}

async function ask(source: RecordSource, url: string): Promise<ImageWork[]> {
  return imageWorkFromJson(await askBuilder(source, url, '/image-work', asJson), source.clock.now());
}
