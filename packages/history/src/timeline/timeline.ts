import type { JsonObject } from '@nodepool/zk-protocol';
import { causesOf, endOf, type Interval, type ToldEvent } from '../record/causes.js';
import { pastEvent, type NodeFacts, type PastLine, type RequestFacts } from '../record/event.js';

/** Lines of one run of a launcher. */
export interface ToldRun {
  /** Host name of the launcher. */
  readonly launcher: string;
  readonly run: string;
  readonly isRunning: boolean;
  /** Time of its last line, about any request or node. */
  readonly heardMs: number;
  readonly lines: readonly PastLine[];
}

interface Known {
  readonly facts: RequestFacts | NodeFacts | undefined;
  readonly events: ToldEvent[];
  readonly nodes: { readonly id: string; readonly facts: NodeFacts; readonly events: ToldEvent[] }[];
}

const ENDS: Readonly<Record<string, string>> = { fulfilled: 'fulfilled', failed: 'failed', gone: 'withdrawn' };

/** Maximum difference between the clocks of a requestor and a launcher. */
const SKEW_MS = 60_000;
/** How much later than another launcher one may see a change, or its clock be ahead. */
const LAG_MS = 1_000;

/**
 * Merges the lines of several launchers into the timeline of a request or node.
 * @returns `undefined` if there are no lines
 */
export function timelineOf(kind: 'request' | 'node', id: string, told: readonly ToldRun[]): JsonObject | undefined {
  const runs = joinRuns(told);
  const known = kind === 'request' ? requestIn(runs, id) : nodeIn(runs, id);
  if (known.events.length === 0) return undefined;
  const { events, nodes, facts } = known;
  const isRequest = facts !== undefined && 'createdMs' in facts;
  const createdMs = isRequest ? facts.createdMs : events[0]?.timeMs;
  const intervals = kind === 'request' ? causesOf({ createdMs, events, nodes }) : statesOf(events);
  const all = [
    ...events.map((event) => eventToJson(event, kind === 'node' ? id : null)),
    ...nodes.flatMap((node) => node.events.map((event) => eventToJson(event, node.id))),
  ].sort((a, b) => Number(a['time']) - Number(b['time']));
  return {
    ...{ id, kind, labels: [...(facts?.labels ?? [])], nodes: nodesOf(known) },
    request: facts && 'request' in facts ? (facts.request ?? null) : null,
    requestor: isRequest ? facts.requestor : null,
    tenant_name: isRequest ? facts.tenant : null,
    created_time: seconds(createdMs),
    ...endToJson(kind, events, intervals),
    intervals: intervals.map(({ beginMs, endMs, cause, text }) => ({
      ...{ begin_time: seconds(beginMs), end_time: seconds(endMs), cause, text },
    })),
    events: all,
  };
}

/** Nodes launched for a request, and nodes allocated to it. */
function nodesOf({ events, nodes }: Known): string[] {
  const given = events.find(({ what }) => what === 'fulfilled')?.text.split(' ') ?? [];
  return [...new Set([...nodes.map(({ id }) => id), ...given])].filter((id) => id !== '');
}

function endToJson(kind: string, events: readonly ToldEvent[], intervals: readonly Interval[]): JsonObject {
  if (kind === 'node') {
    const last = events.at(-1);
    const isGone = last?.what === 'gone';
    return {
      state: isGone ? 'gone' : (intervals.at(-1)?.cause ?? ''),
      ended_time: isGone ? seconds(last.timeMs) : null,
    };
  }
  const end = endOf(events);
  return { state: end ? (ENDS[end.what] ?? end.what) : 'waiting', ended_time: seconds(end?.timeMs) };
}

/** Launchers that share a directory also return each other's runs; only a launcher itself knows that it is running. */
function joinRuns(told: readonly ToldRun[]): ToldRun[] {
  const runs = new Map<string, ToldRun & { readonly lines: PastLine[] }>();
  for (const run of told) {
    const known = runs.get(run.run);
    const named = known?.isRunning === true ? known : run;
    const lines = known?.lines ?? [];
    for (const line of run.lines) lines.push(line); // a launcher may tell one run in thousands of parts
    runs.set(run.run, { ...named, lines, heardMs: Math.max(run.heardMs, known?.heardMs ?? 0) });
  }
  return [...runs.values()];
}

function requestIn(all: readonly ToldRun[], id: string): Known {
  // a new ensemble reuses ids: only the newest request with this id is meant
  const created = all.flatMap(({ lines }) =>
    lines.flatMap((line) => (line.kind === 'request' && line.id === id ? (line.facts?.createdMs ?? []) : [])),
  );
  const newestMs = Math.max(-Infinity, ...created);
  const runs = all.map((run) => ({ ...run, lines: run.lines.filter((line) => isSince(line, newestMs - SKEW_MS)) }));
  const found = runs.map((run) => {
    const own = run.lines.filter((line) => line.kind === 'request' && line.id === id);
    const facts = own.map((line) => (line.kind === 'request' ? line.facts : undefined)).find((each) => each);
    const events = toldBy(run, own);
    const isOver = endOf(events) !== undefined;
    if (!isOver && !run.isRunning && events.length > 0) {
      events.push({ ...pastEvent(run.heardMs, 'ended', '', 'launcher-ended'), launcher: nameOf(run) });
    }
    return { facts, events };
  });
  const nodes = new Map<string, Known['nodes'][number]>();
  for (const run of runs) {
    for (const line of run.lines) {
      if (line.kind !== 'node' || line.facts.request !== id) continue;
      const node = nodes.get(line.id) ?? { id: line.id, facts: line.facts, events: [] };
      nodes.set(line.id, node);
      node.events.push(...toldBy(run, [line]));
    }
  }
  const events = inOrder(found.flatMap((each) => each.events));
  const ended = endOf(events)?.timeMs ?? Infinity;
  return {
    facts: found.map(({ facts }) => facts).find((facts) => facts !== undefined),
    events,
    nodes: [...nodes.values()].map((node) => ({
      ...node,
      events: inOrder(node.events).filter(({ timeMs }) => timeMs <= ended),
    })),
  };
}

function nodeIn(runs: readonly ToldRun[], id: string): Known {
  const lines = runs.flatMap((run) =>
    run.lines.flatMap((line) => (line.kind === 'node' && line.id === id ? [{ run, line }] : [])),
  );
  const events = lastLife(inOrder(lines.flatMap(({ run, line }) => toldBy(run, [line]))));
  const described = lines.findLast(({ line }) => line.isFirst)?.line.facts;
  const request = lines.at(-1)?.line.facts.request;
  return { facts: described && { ...described, request }, events, nodes: [] };
}

/** The events of the newest node with an id, which a new ensemble gives again, until the first launcher saw that it was gone. */
function lastLife(events: readonly ToldEvent[]): ToldEvent[] {
  let life: ToldEvent[] = [];
  let goneMs: number | undefined;
  for (const event of events) {
    const isOther = goneMs !== undefined && event.what !== 'gone' && event.timeMs > goneMs + LAG_MS;
    if (isOther) [life, goneMs] = [[], undefined];
    if (goneMs !== undefined) continue;
    life.push(event);
    if (event.what === 'gone') goneMs = event.timeMs;
  }
  return life;
}

function isSince(line: PastLine, timeMs: number): boolean {
  return line.kind !== 'alive' && (line.events[0]?.timeMs ?? 0) >= timeMs;
}

function nameOf({ launcher, run }: ToldRun): string {
  return `${launcher}#${run}`;
}

function toldBy(run: ToldRun, lines: readonly PastLine[]): ToldEvent[] {
  const launcher = nameOf(run);
  return lines.flatMap((line) => (line.kind === 'alive' ? [] : line.events.map((event) => ({ ...event, launcher }))));
}

/** Sorts events by time and removes those recorded twice. */
function inOrder(events: readonly ToldEvent[]): ToldEvent[] {
  const once = new Map(
    events.map((event) => [JSON.stringify([event.timeMs, event.what, event.pool, event.rule, event.text]), event]),
  );
  return [...once.values()].sort((a, b) => a.timeMs - b.timeMs);
}

/** The states of a node and the stages of its launch as intervals. */
function statesOf(events: readonly ToldEvent[]): Interval[] {
  let state = '';
  const seen = new Map<string, ToldEvent>();
  const steps = events.flatMap((event) => {
    const { timeMs, launcher, what, rule, text } = event;
    if (what === 'state') {
      const told = seen.get(rule);
      const isAgain = told && told.launcher !== launcher && timeMs <= told.timeMs + LAG_MS;
      if (isAgain || rule === state) return []; // another launcher has recorded it, too
      state = rule;
      seen.set(rule, event);
    }
    if (what === 'state') return [{ beginMs: timeMs, cause: rule, text: rule === 'deleting' ? text : '' }];
    if (what === 'stage') return [{ beginMs: timeMs, cause: rule, text: 'a stage of its launch' }];
    if (what === 'error') return [{ beginMs: timeMs, cause: 'launch-failed', text }];
    return what === 'gone' ? [{ beginMs: timeMs, cause: 'gone', text: '' }] : [];
  });
  const changes = steps.filter(({ cause }, index) => cause !== steps[index - 1]?.cause);
  return changes.flatMap((step, index) =>
    step.cause === 'gone' ? [] : [{ ...step, endMs: changes[index + 1]?.beginMs }],
  );
}

function eventToJson({ timeMs, launcher = '', pool, what, rule, text }: ToldEvent, node: string | null): JsonObject {
  const host = launcher.split('#', 1)[0] ?? launcher;
  return { time: seconds(timeMs), launcher: host, pool: pool || null, node, what, rule: rule || null, text };
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1000;
}
