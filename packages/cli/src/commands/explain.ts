import type { ExplainSubject, RequestExplanation } from '@nodepool/core/launcher';
import { explanationToJson, explanationToText } from '@nodepool/core/service';
import type { SharedCondition } from '@nodepool/core/service';
import { defineCommand, text, texts } from '../command/command.js';
import type { Values } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { fetchConditions } from '../conditions/fetch-conditions.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { findLauncherUrls } from '../connection/find-launchers.js';
import { askLaunchers, mergeAnswers } from '../explain/ask-launchers.js';
import type { LauncherAnswer } from '../explain/ask-launchers.js';
import { askTimeline } from '../explain/ask-timeline.js';
import { explainFromServer, isLeaseId } from '../explain/explain-from-server.js';
import { explainLease } from '../explain/explain-lease.js';
import { explainOffline } from '../explain/explain-offline.js';
import type { Timeline } from '../explain/timeline.js';
import { printValue } from '../terminal/output.js';
import { findServerOrSocket } from '../connection/local-server.js';
import { findServer, withServer, type ServerArguments } from '../connection/server.js';
import { LAUNCHER_URL, launcherUrls, SERVER_OPTIONS, serverArguments } from './shared-options.js';
import { printTimeline } from './timeline.js';

function parse(values: Values): ExplainArguments {
  const requestId = text(values, 'request');
  const labels = texts(values, 'label');
  const places = { urls: launcherUrls(texts(values, 'url')), server: serverArguments(values) };
  if (requestId !== undefined && labels.length === 0) return { subject: { requestId }, ...places };
  if (requestId === undefined && labels.length > 0) return { subject: { labels }, ...places };
  throw new UsageError('explain needs either the id of a request or --label, once for each node');
}

/** `nodepool explain`. */
export const command = defineCommand({
  positionals: { request: { type: 'string', describe: 'id of a request or a lease' } },
  options: {
    label: {
      type: 'string',
      array: true,
      requiresArg: true,
      value: 'NAME',
      describe: 'explain a new request for this label; repeat for each node',
    },
    url: LAUNCHER_URL,
    ...SERVER_OPTIONS,
  },
  parse,
  run: explain,
});

const OFFLINE_NOTE =
  'No launcher answered: computed from ZooKeeper and the configuration alone. Limits of clouds and the state of images ' +
  'are unknown and assumed to be good.';

/** As ZooKeeper numbers nodes; ids of requests have a dash. */
const NODE_ID = /^\d{10}$/;

interface ExplainArguments {
  readonly subject: ExplainSubject;
  /** Web servers to ask instead of those the registry names. */
  readonly urls: readonly string[];
  readonly server: ServerArguments;
}

/** An explanation and where it comes from. */
interface Outcome {
  /** About a lease that does not wait. */
  readonly text?: string;
  /** Timeline of a request that is gone. */
  readonly past?: Timeline | undefined;
  readonly explanation: RequestExplanation | undefined;
  readonly source: 'launchers' | 'offline';
  /** All current conditions. */
  readonly conditions: readonly SharedCondition[];
}

/**
 * `nodepool explain`: why a request waits, or how a request for some labels would be served. Asks launchers for live numbers; when
 * none answers, computes the same from ZooKeeper and the configuration.
 */
async function explain(context: CliContext, args: ExplainArguments): Promise<void> {
  const { subject } = args;
  const { explanation, source, past, conditions, text: lease } = await findOut(context, args);
  if (lease !== undefined) {
    print(lease);
    return;
  }
  if (!explanation && past) {
    printTimeline(context, past, false);
    return;
  }
  if (!explanation) {
    if ('requestId' in subject && NODE_ID.test(subject.requestId)) throw new CliError(nodeText(subject.requestId));
    const text = `Request id ${'requestId' in subject ? subject.requestId : ''} not found`;
    if (context.options.strict) throw new CliError(text);
    print(text);
    return;
  }
  if (context.options.format !== 'table') {
    printValue(context, { ...explanationToJson(explanation, conditions), source });
    return;
  }
  print(explanationToText(explanation, conditions, context.clock.now()));
}

function nodeText(id: string): string {
  return `${id} is the id of a node, and explain is about requests. The past of the node, with its request: nodepool timeline ${id}`;
}

/** @returns `undefined`: it is about labels, a request or a node */
function leaseIdOf(subject: ExplainSubject): string | undefined {
  if (!('requestId' in subject) || !isLeaseId(subject.requestId) || NODE_ID.test(subject.requestId)) return undefined;
  return subject.requestId;
}

async function findOut(context: CliContext, { subject, urls, server }: ExplainArguments): Promise<Outcome> {
  if (urls.length > 0) return explainByUrls(context, subject, urls);
  const found = await (leaseIdOf(subject) !== undefined ? findServerOrSocket : findServer)(context, server);
  if (!found) return explainBySystem(context, subject);
  const answer = await withServer(found, context, (client) => explainFromServer(client, subject));
  const outcome: Outcome = { explanation: undefined, conditions: [], source: 'launchers', ...answer };
  return answer ? outcome : withPast(context, outcome, [found.url], subject);
}

async function explainByUrls(context: CliContext, subject: ExplainSubject, urls: readonly string[]): Promise<Outcome> {
  const answers = await askLaunchers(urls, subject, context.clock);
  const outcome = fromAnswers(answers);
  if (outcome) return withPast(context, outcome, urls, subject);
  throw new CliError(`No launcher answered: ${answers.map(failureText).join('; ')}`);
}

function explainBySystem(context: CliContext, asked: ExplainSubject): Promise<Outcome> {
  return withZooKeeper(context, async (zk) => {
    const leaseId = leaseIdOf(asked);
    const lease = leaseId === undefined ? undefined : await explainLease(context, zk, leaseId);
    if (lease && 'text' in lease) return { ...lease, explanation: undefined, source: 'offline', conditions: [] };
    const subject = lease ?? asked;
    const config = await loadIfPresent(context);
    const urls = await findLauncherUrls({ ...context, zk }, config?.webapp);
    const answers = await askLaunchers(urls, subject, context.clock);
    const outcome = fromAnswers(answers);
    for (const answer of answers) if (answer.kind === 'failed') inform(`nodepool: ${failureText(answer)}`);
    if (outcome) return withPast(context, outcome, urls, subject);
    inform(`nodepool: ${OFFLINE_NOTE}`);
    const conditions = await fetchConditions({ ...context, zk });
    return { explanation: await explainOffline(context, zk, subject), source: 'offline', conditions };
  });
}

/** Launchers may still have a timeline of a request that is gone. */
async function withPast(
  context: CliContext,
  outcome: Outcome,
  urls: readonly string[],
  subject: ExplainSubject,
): Promise<Outcome> {
  if (outcome.explanation || !('requestId' in subject)) return outcome;
  const { timeline } = await askTimeline(urls, subject.requestId, context.clock);
  return { ...outcome, past: timeline };
}

/** @returns `undefined` when no launcher has answered */
function fromAnswers(answers: readonly LauncherAnswer[]): Outcome | undefined {
  const merged = mergeAnswers(answers);
  const isUnknown = answers.some((answer) => answer.kind === 'unknown-request');
  if (!merged && !isUnknown) return undefined;
  return { explanation: undefined, conditions: [], ...merged, source: 'launchers' };
}

function failureText(answer: LauncherAnswer): string {
  return answer.kind === 'failed' ? `${answer.url}: ${answer.why}` : `${answer.url}: answered`;
}
