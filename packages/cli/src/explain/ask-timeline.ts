import type { Clock } from '@nodepool/zk-protocol';
import { describeError } from '../command/errors.js';
import { whileBusy } from '../connection/while-busy.js';
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

/** @returns `undefined` if it is not JSON, such as the page of a proxy */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @returns the timeline, `unknown`, or why there is no answer */
async function ask(url: string, id: string, clock: Clock): Promise<Timeline | string> {
  const abort = new AbortController();
  const cancel = clock.setTimer(ANSWER_MS, () => abort.abort(new Error(`no answer within ${ANSWER_MS / 1000} s`)));
  try {
    const path = `api/v1/${kindOf(id)}s/${encodeURIComponent(id)}/timeline`;
    const target = new URL(path, url.endsWith('/') ? url : `${url}/`);
    const { signal } = abort;
    const response = await whileBusy(() => fetch(target, { signal }), { clock, patienceMs: ANSWER_MS, signal });
    const body = parse(await response.text());
    if (response.ok) return isTimeline(body) ? body : 'its answer is no timeline: no launcher, or a newer one';
    if (response.status !== 404) return `it answered with status ${response.status}`;
    const code = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
    return code === `unknown-${kindOf(id)}` ? 'unknown' : 'it keeps no history: an older launcher';
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return cause instanceof Error && 'code' in cause ? String(cause.code) : describeError(cause);
  } finally {
    cancel();
  }
}
