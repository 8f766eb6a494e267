import { conditionFromJson, explanationFromJson, mergeConditions, mergeExplanations } from '@nodepool/core/service';
import type { SharedCondition, Condition } from '@nodepool/core/service';
import type { ExplainSubject, RequestExplanation } from '@nodepool/core/launcher';
import type { Clock, JsonObject } from '@nodepool/zk-protocol';
import { askLauncher } from './ask-launcher.js';

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
  const answer = await askLauncher(url, explainPath(subject), clock, ANSWER_MS);
  if (typeof answer === 'string') return { kind: 'failed', url, why: answer };
  const { status, body, error } = answer;
  const explanation = status === 200 ? explanationFromJson(body) : undefined;
  if (explanation) return { kind: 'explained', url, explanation, conditions: conditionsOf(body) };
  if (status === 404 && error === 'unknown-request') return { kind: 'unknown-request', url };
  return { kind: 'failed', url, why: refusalText(status) };
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

/** Conditions of an explanation as JSON; empty for a launcher of an earlier release. */
export function conditionsOf(body: unknown): Condition[] {
  const { conditions } = body as JsonObject;
  return Array.isArray(conditions) ? conditions.flatMap((each) => conditionFromJson(each as JsonObject) ?? []) : [];
}

function explainPath(subject: ExplainSubject): string {
  const query = new URLSearchParams();
  if ('requestId' in subject) query.set('request', subject.requestId);
  else for (const label of subject.labels) query.append('label', label);
  return `explain?${query.toString()}`;
}

function refusalText(status: number): string {
  if (status === 404) return 'it has no /explain: an older launcher, or another service';
  if (status === 503) return 'it is still starting';
  return `it answered with status ${status}`;
}
