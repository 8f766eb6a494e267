import { isPoolComponent, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { ApiError, listOf, orNull, record, ref, TEXT, TIME, type ApiCall, type ApiOperation } from '@nodepool/daemon';
import { LauncherQuestions, runsToJson, timelineOf } from '@nodepool/history';
import { filter } from './parameters.js';
import type { LauncherApiSources } from './sources.js';

/** Readers of files at a time; more are told to come back. */
const MOST_READERS = 8;
const ID = { type: 'string', description: 'Id of the record' };

/** Schemas of timelines, by name. */
export const TIMELINE_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  TimelineInterval: record({
    begin_time: TIME,
    end_time: { ...orNull(TIME), description: 'null: it still does' },
    cause: { ...TEXT, description: 'Of a request what it waited for, of a node its state' },
    text: TEXT,
  }),
  TimelineEvent: record({
    ...{
      time: TIME,
      launcher: TEXT,
      pool: orNull(TEXT),
      node: orNull(TEXT),
      what: TEXT,
      rule: orNull(TEXT),
      text: TEXT,
    },
  }),
  Timeline: record({
    ...{ id: TEXT, kind: { ...TEXT, enum: ['request', 'node'] }, labels: listOf(TEXT), nodes: listOf(TEXT) },
    request: { ...orNull(TEXT), description: 'Of a node: what it was made for or given to' },
    ...{ requestor: orNull(TEXT), tenant_name: orNull(TEXT), created_time: orNull(TIME), state: TEXT },
    ...{ ended_time: orNull(TIME), intervals: listOf(ref('TimelineInterval')), events: listOf(ref('TimelineEvent')) },
    silent: {
      ...listOf(record({ url: TEXT, error: TEXT })),
      description: 'Launchers that did not answer; what they know is missing',
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
    base_time: { ...TIME, description: 'Times in the lines are told from here on' },
    lines: listOf(TEXT),
    next: { ...orNull(TEXT), description: 'null: this page is the last' },
  },
  'For nodepool replay; the form of the lines may change with every release',
);

/** The past of requests and nodes: what this launcher has on record, and what all of them have together. */
export function historyOperations(sources: LauncherApiSources): ApiOperation[] {
  const shared = { method: 'GET', pathParameters: { id: ID } } as const;
  const timeline = { ...shared, answer: ref('Timeline'), errors: { 404: 'No launcher has it on record' } } as const;
  const limited = limitReaders();
  const questions = new LauncherQuestions(sources.clock);
  return [
    {
      ...{ method: 'GET', id: 'getHistoryPage', path: '/history/pages/{page}' },
      summary: 'The lines that this launcher alone has on record, page by page',
      pathParameters: { page: { type: 'string', description: '`first`, or `next` of the page before' } },
      query: PAGE_QUERY,
      answer: HISTORY_PAGE,
      handle: ({ path: { page = '' }, query }) => limited(() => historyPage(sources, page, query)),
    },
    {
      ...{ ...shared, id: 'getHistory', path: '/history/{id}', summary: 'What this launcher alone has on record' },
      answer: { type: 'object', description: 'For other launchers; may change with every release' },
      handle: ({ path: { id = '' } }) => limited(() => ownHistory(sources, id)),
    },
    {
      ...{ ...timeline, id: 'getRequestTimeline', path: '/requests/{id}/timeline' },
      summary: 'What a request waited for, from its creation on, as all launchers tell it',
      handle: ({ path: { id = '' } }) => limited(() => joinedTimeline(sources, questions, 'request', id)),
    },
    {
      ...{ ...timeline, id: 'getNodeTimeline', path: '/nodes/{id}/timeline' },
      summary: 'The states of a node, as all launchers tell it',
      handle: ({ path: { id = '' } }) => limited(() => joinedTimeline(sources, questions, 'node', id)),
    },
  ];
}

function limitReaders() {
  let readers = 0;
  return async (read: () => Promise<Json>): Promise<Json> => {
    if (readers >= MOST_READERS) throw new ApiError(429, 'busy', 'Too many read the history; ask again');
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
  { since = '0', until = 'Infinity' }: ApiCall['query'],
): Promise<Json> {
  const [sinceMs, untilMs] = [Number(since) * 1000, Number(until) * 1000];
  if (Number.isNaN(sinceMs) || Number.isNaN(untilMs))
    throw new ApiError(400, 'bad-time', 'since and until are UNIX times in seconds');
  const {
    baseMs,
    lines,
    next = null,
  } = await history.page({ sinceMs, untilMs, after: page === 'first' ? undefined : page });
  return { launcher: hostname, base_time: baseMs / 1000, lines: [...lines], next };
}

async function joinedTimeline(
  sources: LauncherApiSources,
  questions: LauncherQuestions,
  kind: 'request' | 'node',
  id: string,
): Promise<Json> {
  const { history, hostname } = sources;
  const answers = questions.ask(otherLaunchers(sources), id);
  if (!answers) throw new ApiError(429, 'busy', 'Too many timelines are read; ask again');
  const [own, others] = await Promise.all([history.read(id), answers]);
  const runs = [...own.map((run) => ({ ...run, launcher: hostname })), ...others.flatMap((other) => other.runs)];
  const timeline = timelineOf(kind, id, runs);
  const silent = others.flatMap(({ url, error }) => (error === null ? [] : [{ url, error }]));
  if (timeline) return { ...timeline, silent };
  const others404 = silent.length === 0 ? '' : `; ${silent.length} launchers did not answer`;
  throw new ApiError(404, `unknown-${kind}`, `No launcher has ${kind} "${id}" on record${others404}`);
}

function otherLaunchers({ runtime, webUrl }: LauncherApiSources): string[] {
  const urls = [...runtime.allComponents].flatMap((component) =>
    component.kind === 'launcher' && !isPoolComponent(component) ? (component.webUrl ?? []) : [],
  );
  return [...new Set(urls)].filter((url) => url !== webUrl());
}
