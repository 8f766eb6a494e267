import { isPoolComponent, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { ApiError, listOf, orNull, record, ref, TEXT, TIME, type ApiCall, type ApiOperation } from '@nodepool/daemon';
import { LauncherQuestions, runsToJson, timelineOf, type LauncherAnswer } from '@nodepool/history';
import { filter, timeParameterMs } from './parameters.js';
import type { LauncherApiSources } from './sources.js';

/** Limit of concurrent reads of the files; further calls are refused with 429. */
const MAX_READERS = 8;
const ID = { type: 'string', description: 'Id of the record' };

/** Schemas of timelines, by name. */
export const TIMELINE_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  TimelineInterval: record({
    begin_time: TIME,
    end_time: { ...orNull(TIME), description: 'null if it has not ended' },
    cause: { ...TEXT, description: 'Why a request waited, or the state of a node' },
    text: TEXT,
  }),
  TimelineEvent: record({
    time: TIME,
    launcher: TEXT,
    pool: orNull(TEXT),
    node: orNull(TEXT),
    what: TEXT,
    rule: orNull(TEXT),
    text: TEXT,
  }),
  Timeline: record({
    id: TEXT,
    kind: { ...TEXT, enum: ['request', 'node'] },
    labels: listOf(TEXT),
    nodes: listOf(TEXT),
    request: { ...orNull(TEXT), description: 'Request for which a node was launched or to which it was allocated' },
    requestor: orNull(TEXT),
    tenant_name: orNull(TEXT),
    created_time: orNull(TIME),
    state: TEXT,
    ended_time: orNull(TIME),
    intervals: listOf(ref('TimelineInterval')),
    events: listOf(ref('TimelineEvent')),
    silent: {
      ...listOf(record({ url: TEXT, error: TEXT })),
      description: 'Launchers that did not answer; the timeline lacks their events',
    },
  }),
};

const PAGE_QUERY = {
  since: filter('Files that ended before this UNIX time, s, are left out'),
  until: filter('Files that began after this UNIX time, s, are left out'),
};
const HISTORY_PAGE = record(
  {
    launcher: TEXT,
    base_time: { ...TIME, description: 'Times in the lines are relative to this time' },
    lines: listOf(TEXT),
    next: { ...orNull(TEXT), description: 'null on the last page' },
  },
  'For nodepool replay; the format of the lines may change with every release',
);

/** Operations that read the history of this launcher, and timelines merged from all launchers. */
export function historyOperations(sources: LauncherApiSources): ApiOperation[] {
  const limited = limitReaders(MAX_READERS);
  return [...ownHistoryOperations(sources, limited), ...timelineOperations(sources, limited)];
}

function ownHistoryOperations(sources: LauncherApiSources, limited: Limit): ApiOperation[] {
  return [
    {
      id: 'getHistoryPage',
      method: 'GET',
      path: '/history/pages/{page}',
      summary: 'History of this launcher, page by page',
      pathParameters: { page: { type: 'string', description: '`first`, or `next` of the previous page' } },
      query: PAGE_QUERY,
      answer: HISTORY_PAGE,
      handle: ({ path: { page = '' }, query }) => limited(() => historyPage(sources, page, query)),
    },
    {
      id: 'getHistory',
      method: 'GET',
      path: '/history/{id}',
      summary: 'Lines of this launcher about one record',
      pathParameters: { id: ID },
      answer: { type: 'object', description: 'For other launchers; may change with every release' },
      handle: ({ path: { id = '' } }) => limited(() => ownHistory(sources, id)),
    },
  ];
}

function timelineOperations(sources: LauncherApiSources, limited: Limit): ApiOperation[] {
  const questions = new LauncherQuestions(sources.clock);
  const timelineFor = (kind: 'request' | 'node') => {
    const kept: KeptTimelines = new WeakMap();
    return ({ path: { id = '' } }: ApiCall) => limited(() => joinedTimeline(sources, { questions, kept }, kind, id));
  };
  const shared = {
    method: 'GET',
    pathParameters: { id: ID },
    answer: ref('Timeline'),
    errors: { 404: 'No launcher has a history of it' },
  } as const;
  return [
    {
      ...shared,
      id: 'getRequestTimeline',
      path: '/requests/{id}/timeline',
      summary: 'Causes for which a request waited, merged from all launchers',
      handle: timelineFor('request'),
    },
    {
      ...shared,
      id: 'getNodeTimeline',
      path: '/nodes/{id}/timeline',
      summary: 'States of a node, merged from all launchers',
      handle: timelineFor('node'),
    },
  ];
}

type Limit = (read: () => Promise<Json>) => Promise<Json>;

/** Refuses reads while so many are in progress. */
export function limitReaders(most: number): Limit {
  let readers = 0;
  return async (read) => {
    if (readers >= most) throw new ApiError(429, 'busy', 'Too many concurrent reads of the history; retry later');
    readers++;
    try {
      return await read();
    } finally {
      readers--;
    }
  };
}

async function ownHistory({ history, hostname }: LauncherApiSources, id: string): Promise<Json> {
  return { launcher: hostname, runs: runsToJson(await history.read(id)) };
}

async function historyPage(
  { history, hostname }: LauncherApiSources,
  page: string,
  { since, until }: ApiCall['query'],
): Promise<Json> {
  const [sinceMs, untilMs] = [timeParameterMs(since, 0), timeParameterMs(until, Infinity)];
  if (Number.isNaN(sinceMs) || Number.isNaN(untilMs))
    throw new ApiError(400, 'bad-time', 'since and until are UNIX times in seconds');
  const {
    baseMs,
    lines,
    next = null,
  } = await history.page({ sinceMs, untilMs, after: page === 'first' ? undefined : page });
  return { launcher: hostname, base_time: baseMs / 1000, lines: [...lines], next };
}

/** Timelines by the answers that they are made of: all who ask within a second get the same one. */
type KeptTimelines = WeakMap<Promise<LauncherAnswer[]>, Promise<Json>>;

async function joinedTimeline(
  sources: LauncherApiSources,
  { questions, kept }: { readonly questions: LauncherQuestions; readonly kept: KeptTimelines },
  kind: 'request' | 'node',
  id: string,
): Promise<Json> {
  const answers = questions.ask(otherLaunchers(sources), id);
  if (!answers) throw new ApiError(429, 'busy', 'Too many timelines requested; retry later');
  const timeline = kept.get(answers) ?? join(sources, answers, kind, id);
  kept.set(answers, timeline);
  return timeline;
}

async function join(
  { history, hostname }: LauncherApiSources,
  answers: Promise<LauncherAnswer[]>,
  kind: 'request' | 'node',
  id: string,
): Promise<Json> {
  const [own, others] = await Promise.all([history.read(id), answers]);
  const runs = [...own.map((run) => ({ ...run, launcher: hostname })), ...others.flatMap((other) => other.runs)];
  const timeline = timelineOf(kind, id, runs);
  const silent = others.flatMap(({ url, error }) => (error === null ? [] : [{ url, error }]));
  if (timeline) return { ...timeline, silent };
  const unanswered = silent.length === 0 ? '' : `; ${silent.length} launchers did not answer`;
  throw new ApiError(404, `unknown-${kind}`, `No launcher has ${kind} "${id}" on record${unanswered}`);
}

function otherLaunchers({ runtime, webUrl }: LauncherApiSources): string[] {
  const urls = [...runtime.allComponents].flatMap((component) =>
    component.kind === 'launcher' && !isPoolComponent(component) ? (component.webUrl ?? []) : [],
  );
  return [...new Set(urls)].filter((url) => url !== webUrl());
}
