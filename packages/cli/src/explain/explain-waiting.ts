import { summarizeExplanation } from '@nodepool/core/service';
import { compareRequests } from '@nodepool/zk-protocol';
import type { Clock, RequestRecord } from '@nodepool/zk-protocol';
import { askLaunchers, mergeAnswers } from './ask-launchers.js';

/** Of a long queue only the requests next in line are asked about: the others wait for these. */
const MOST_REQUESTS = 100;
const AT_ONCE = 8;

/**
 * What the next requests in line wait for, by id, as far as launchers answer. Never rejects.
 * @param urls - of the launchers' web servers; a server that does not answer is asked once
 */
export async function explainWaiting(
  urls: readonly string[],
  requests: readonly RequestRecord[],
  clock: Clock,
): Promise<Map<string, string>> {
  const waiting = requests.filter(({ state }) => state === 'requested' || state === 'pending').sort(compareRequests);
  const texts = new Map<string, string>();
  let answering = urls;
  const askAbout = async ({ id }: RequestRecord): Promise<void> => {
    const answers = await askLaunchers(answering, { requestId: id }, clock);
    answering = answers.flatMap(({ kind, url }) => (kind === 'failed' ? [] : [url]));
    const merged = mergeAnswers(answers);
    if (merged)
      texts.set(id, summarizeExplanation(merged.explanation, merged.conditions).replace(`Request ${id} `, ''));
  };
  const [first, ...others] = waiting.slice(0, MOST_REQUESTS);
  if (first) await askAbout(first);
  for (let start = 0; start < others.length && answering.length > 0; start += AT_ONCE) {
    await Promise.all(others.slice(start, start + AT_ONCE).map(askAbout));
  }
  return texts;
}
