import { durationText } from '@nodepool/core/service';
import type { Timeline, TimelineEvent, TimelineInterval } from './timeline.js';

/** What a request waited for, or which states a node was in, line by line. @param isDetailed - with all events */
export function timelineToText(timeline: Timeline, nowMs: number, isDetailed: boolean): string {
  const now = nowMs / 1000;
  const blocks = [[headline(timeline, now), ...facts(timeline)].join('\n'), intervalLines(timeline, now).join('\n')];
  if (timeline.kind === 'request' && timeline.intervals.length > 3) blocks.push(totals(timeline, now));
  if (isDetailed) blocks.push(['Events', ...timeline.events.map(eventLine)].join('\n'));
  return blocks.join('\n\n');
}

function headline({ kind, id, state, created_time: created, ended_time: ended }: Timeline, now: number): string {
  const name = kind === 'request' ? 'Request' : 'Node';
  if (created === null) return `${name} ${id}: ${state}`;
  const took = durationText((ended ?? now) - created);
  if (kind === 'node')
    return `${name} ${id}: ${state}, ${ended === null ? 'made' : 'was there for'} ${took}${ended === null ? ' ago' : ''}`;
  return ended === null ? `${name} ${id}: waiting for ${took}` : `${name} ${id}: ${state} after ${took}`;
}

function facts({ labels, requestor, tenant_name: tenant, request, nodes, created_time: created }: Timeline): string[] {
  const rows: [string, string | null][] = [
    ['labels', labels.join(', ')],
    ['requestor', requestor],
    ['tenant', tenant],
    ['request', request],
    ['nodes', nodes.join(', ')],
    ['created', created === null ? null : new Date(created * 1000).toISOString()],
  ];
  return rows.flatMap(([name, value]) => (value === null || value === '' ? [] : [`  ${name.padEnd(9)}  ${value}`]));
}

function intervalLines({ kind, intervals }: Timeline, now: number): string[] {
  const lengths = intervals.map(({ begin_time: begin, end_time: end }) => durationText((end ?? now) - begin));
  const cause = Math.max(5, ...intervals.map((interval) => interval.cause.length));
  const length = Math.max(3, ...lengths.map((text) => text.length));
  const title = kind === 'request' ? 'Cause' : 'State';
  return [
    `${'At'.padEnd(12)}  ${'For'.padStart(length)}  ${title}`,
    ...intervals.map(({ begin_time: begin, cause: name, text }, index) =>
      `${timeOfDay(begin)}  ${(lengths[index] ?? '').padStart(length)}  ${name.padEnd(cause)}  ${text}`.trimEnd(),
    ),
  ];
}

function totals({ intervals, created_time: created, ended_time: ended }: Timeline, now: number): string {
  const sums = new Map<string, number>();
  const length = ({ begin_time: begin, end_time: end }: TimelineInterval) => (end ?? now) - begin;
  for (const interval of intervals) sums.set(interval.cause, (sums.get(interval.cause) ?? 0) + length(interval));
  const whole = Math.max(0.001, (ended ?? now) - (created ?? intervals[0]?.begin_time ?? now));
  const parts = [...sums].sort(([, a], [, b]) => b - a);
  return `In all: ${parts.map(([cause, sum]) => `${cause} ${durationText(sum)} (${Math.round((sum / whole) * 100)} %)`).join(', ')}`;
}

function eventLine({ time, launcher, pool, node, what, rule, text }: TimelineEvent): string {
  const about = [pool, node === null ? null : `node ${node}`].filter((part) => part !== null).join(' ');
  return [`  ${timeOfDay(time)}`, launcher, about, what, rule ?? '', text].filter((part) => part !== '').join('  ');
}

/** In UTC, as the log has it by default on servers. */
function timeOfDay(time: number): string {
  return new Date(time * 1000).toISOString().slice(11, 23);
}
