import type { Clock } from '@nodepool/zk-protocol';
import { askLauncher } from './ask-launcher.js';
import { isTimeline, kindOf, type Timeline } from './timeline.js';

/** A launcher asks the others in turn, which takes up to two seconds. */
const ANSWER_MS = 6_000;

/** The timeline, and why launchers did not answer. */
export interface FoundTimeline {
  /** `undefined`: no launcher has it on record. */
  readonly timeline: Timeline | undefined;
  /** A launcher answered. */
  readonly isAnswered: boolean;
  readonly failures: readonly string[];
}

/** Asks one launcher after the other until one answers; it knows what all have on record. Never rejects. */
export async function askTimeline(urls: readonly string[], id: string, clock: Clock): Promise<FoundTimeline> {
  const failures: string[] = [];
  for (const url of urls) {
    const answer = await ask(url, id, clock);
    if (answer === 'unknown') return { timeline: undefined, isAnswered: true, failures };
    if (typeof answer !== 'string') return { timeline: answer, isAnswered: true, failures };
    failures.push(`${url}: ${answer}`);
  }
  return { timeline: undefined, isAnswered: false, failures };
}

/** @returns the timeline, `unknown`, or why there is no answer */
async function ask(url: string, id: string, clock: Clock): Promise<Timeline | string> {
  const path = `api/v1/${kindOf(id)}s/${encodeURIComponent(id)}/timeline`;
  const answer = await askLauncher(url, path, clock, ANSWER_MS);
  if (typeof answer === 'string') return answer;
  const { status, body, error } = answer;
  if (status === 200) return isTimeline(body) ? body : 'its answer is no timeline: no launcher, or a newer one';
  if (status !== 404) return `it answered with status ${status}`;
  return error === `unknown-${kindOf(id)}` ? 'unknown' : 'it keeps no history: an older launcher';
}
