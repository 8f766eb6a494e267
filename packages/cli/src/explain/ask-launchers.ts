import { conditionFromJson, explanationFromJson, mergeConditions, mergeExplanations } from '@nodepool/core/service';
import type { SharedCondition, Condition } from '@nodepool/core/service';
import type { ExplainSubject, RequestExplanation } from '@nodepool/core/launcher';
import type { Clock, JsonObject } from '@nodepool/zk-protocol';
import { describeError } from '../command/errors.js';
import { whileBusy } from '../connection/while-busy.js';

/** Answer of one launcher. */
export type LauncherAnswer =
  | {
      readonly kind: 'explained';
      readonly url: string;
      readonly explanation: RequestExplanation;
      /** Conditions that concern the subject; a launcher knows those of all services. */
      readonly conditions: readonly Condition[];
    }
  | { readonly kind: 'unknown-request'; readonly url: string }
  | { readonly kind: 'failed'; readonly url: string; readonly why: string };

/** Time limit for a launcher that is busy or gone. */
const ANSWER_MS = 3000;

/** Asks all launchers at once; never rejects. @param urls - of web servers, e.g. `http://nl01:8005` */
export function askLaunchers(
  urls: readonly string[],
  subject: ExplainSubject,
  clock: Clock,
): Promise<LauncherAnswer[]> {
  return Promise.all(urls.map((url) => ask(url, subject, clock)));
}

async function ask(url: string, subject: ExplainSubject, clock: Clock): Promise<LauncherAnswer> {
  const abort = new AbortController();
  const cancel = clock.setTimer(ANSWER_MS, () => abort.abort(new Error(`no answer within ${ANSWER_MS / 1000} s`)));
  try {
    const headers = { accept: 'application/json' };
    const target = explainUrl(url, subject);
    const { signal } = abort;
    const response = await whileBusy(() => fetch(target, { headers, signal }), {
      clock,
      patienceMs: ANSWER_MS,
      signal,
    });
    const body = await readJson(response);
    const explanation = response.ok ? explanationFromJson(body) : undefined;
    if (explanation) return { kind: 'explained', url, explanation, conditions: conditionsOf(body) };
    if (response.status === 404 && errorOf(body) === 'unknown-request') return { kind: 'unknown-request', url };
    return { kind: 'failed', url, why: refusalText(response.status) };
  } catch (error) {
    return { kind: 'failed', url, why: fetchErrorText(error) };
  } finally {
    cancel();
  }
}

/** Merges the answers of launchers that know the subject; `undefined`: none knows it. */
export function mergeAnswers(
  answers: readonly LauncherAnswer[],
): { readonly explanation: RequestExplanation; readonly conditions: readonly SharedCondition[] } | undefined {
  const explained = answers.flatMap((answer) => (answer.kind === 'explained' ? [answer] : []));
  const explanation = mergeExplanations(explained.map((answer) => answer.explanation));
  if (!explanation) return undefined;
  const conditions = mergeConditions(
    explained.map((answer) => ({ service: answer.url, conditions: answer.conditions })),
  );
  return { explanation, conditions };
}

/** Empty for a launcher of an earlier release. */
function conditionsOf(body: unknown): Condition[] {
  const { conditions } = body as JsonObject;
  return Array.isArray(conditions) ? conditions.flatMap((each) => conditionFromJson(each as JsonObject) ?? []) : [];
}

function explainUrl(url: string, subject: ExplainSubject): URL {
  const target = new URL('explain', url.endsWith('/') ? url : `${url}/`);
  if ('requestId' in subject) target.searchParams.set('request', subject.requestId);
  else for (const label of subject.labels) target.searchParams.append('label', label);
  return target;
}

/** The body as JSON; `undefined` for anything else, such as the page of a proxy. */
async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The status is reported instead.
  }
}

function errorOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
}

function refusalText(status: number): string {
  if (status === 404) return 'it has no /explain: an older launcher, or another service';
  if (status === 503) return 'it is still starting';
  return `it answered with status ${status}`;
}

/** `fetch` says only that it failed; its cause says why. */
function fetchErrorText(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  return code ?? describeError(cause);
}
