import { escapeControlCharacters } from '@nodepool/zk-protocol';
import { durationText } from '@nodepool/core/service';
import { join, type Joined, type Snapshot } from './snapshot.js';
import type { ConditionLine, ErrorLine, LaunchLine, PoolLine, ProviderLine, RequestLine } from './snapshot.js';

/** Size of the terminal; `undefined`: unlimited. */
export interface TerminalSize {
  readonly columns: number | undefined;
  readonly rows: number | undefined;
}

interface Section {
  readonly title: string;
  /** Shown in place of lines if there are none. */
  readonly none: string;
  readonly lines: readonly string[];
}

/** Lines of one section if the size is unlimited. */
const MOST_LINES = 30;
/** Fewer rows show the head alone, as far as it fits. */
const FEWEST_ROWS = 8;

/** The lines of one snapshot, cut to the size of the terminal. */
export function renderSnapshot(snapshot: Snapshot, { columns, rows }: TerminalSize): string[] {
  const joined = join(snapshot);
  const head = headLines(snapshot, joined);
  const lines =
    rows !== undefined && rows < FEWEST_ROWS ? head : [...head, ...fitSections(snapshot, joined, rows, head.length)];
  return lines.slice(0, rows).map((line) => cut(escapeControlCharacters(line), columns));
}

function headLines(snapshot: Snapshot, { nodes, waiting, pending }: Joined): string[] {
  const { nowMs, launchers, zooKeeperTrouble } = snapshot;
  const answering = launchers.filter(({ lost }) => !lost);
  const counts = Object.entries(nodes).map(([state, count]) => `${count} ${state}`);
  const time = new Date(nowMs).toISOString().slice(11, 19);
  const lines = [
    `nodepool top  ${time} UTC  ${answering.length} of ${launchers.length} launchers answer`,
    `requests: ${waiting} waiting, ${pending} accepted  nodes: ${counts.join(', ') || 'none'}`,
  ];
  if (zooKeeperTrouble !== undefined) lines.push(`! ZooKeeper: ${zooKeeperTrouble}`);
  for (const { url, lost, overview } of launchers) {
    if (lost) lines.push(`! ${url} has not answered for ${durationText((nowMs - lost.sinceMs) / 1000)}: ${lost.why}`);
    else if (overview && overview.not_ready.length > 0)
      lines.push(`! ${url} is not ready: ${overview.not_ready.join(', ')}`);
  }
  if (launchers.length === 0) lines.push('! No launcher is registered');
  else if (answering.length === 0) lines.push('! No launcher answers; below is the last known state');
  return lines;
}

function fitSections(snapshot: Snapshot, joined: Joined, rows: number | undefined, used: number): string[] {
  const sections = sectionsOf(snapshot, joined);
  const wanted = sections.map(({ lines }) => Math.min(MOST_LINES, Math.max(1, lines.length)));
  const given = rows === undefined ? wanted : share(wanted, rows - used - sections.length);
  return sections.flatMap(({ title, none, lines }, index) => {
    const count = given[index] ?? 0;
    if (count === 0) return rows !== undefined ? [] : [title];
    if (lines.length <= count) return [title, ...(lines.length === 0 ? [`  ${none}`] : lines)];
    return [title, ...lines.slice(0, count - 1), `  and ${lines.length - count + 1} more`];
  });
}

/** Shares rows fairly: sections that need few get all of them. */
function share(wanted: readonly number[], total: number): number[] {
  const given = wanted.map(() => 0);
  for (let left = Math.max(0, total); left > 0;) {
    const hungry = wanted.flatMap((want, index) => (want > (given[index] ?? 0) ? [index] : []));
    if (hungry.length === 0) break;
    for (const index of hungry.slice(0, left)) {
      given[index] = (given[index] ?? 0) + 1;
      left--;
    }
  }
  return given;
}

type Age = (time: number | null) => string;

function sectionsOf({ nowMs }: Snapshot, joined: Joined): Section[] {
  const age: Age = (time) => (time === null ? '' : durationText(Math.max(0, nowMs / 1000 - time)));
  const { conditions, providers, pools, requests, launches, errors } = joined;
  return [
    { title: 'PROBLEMS', none: 'nothing', lines: table(conditions.map((each) => conditionCells(each, age))) },
    { title: 'PROVIDERS', none: 'none', lines: table(providers.map(providerCells)) },
    { title: 'POOLS', none: 'none registered', lines: table(pools.map(poolCells)) },
    { title: 'WAITING REQUESTS', none: 'none', lines: table(requests.map((each) => requestCells(each, age))) },
    { title: 'LAUNCHES IN PROGRESS', none: 'none', lines: table(launches.map((each) => launchCells(each, age))) },
    { title: 'ERRORS', none: 'none', lines: table(errors.map((each) => errorCells(each, age))) },
  ];
}

function conditionCells({ severity, kind, name, message, since }: ConditionLine, age: Age): string[] {
  return [severity, `for ${age(since)}`, `${kind} ${name}`, message];
}

function providerCells({ name, state, error, nodes, api }: ProviderLine): string[] {
  const counts = Object.entries(nodes).map(([nodeState, count]) => `${count} ${nodeState}`);
  const calls = `${Math.round(api.calls_per_minute)} calls/min, ${api.failed_last_hour} failed in the last hour`;
  return [name, state, counts.join(', ') || 'no nodes', calls, error ?? ''];
}

function poolCells(line: PoolLine): string[] {
  const { provider, pool, hostname, paused, used, max_servers: most, handling, waiting } = line;
  const limits = line.provider_limits === null ? undefined : Object.entries(line.provider_limits);
  const quota = limits?.map(([name, limit]) => `${line.provider_used?.[name] ?? 0}/${limit} ${name}`).join(' ');
  return [
    `${provider}/${pool}`,
    hostname,
    used === null ? 'unknown' : `${used['instances'] ?? 0} of ${most ?? 'any number'}`,
    `quota ${quota === '' ? 'none' : (quota ?? 'unknown')}`,
    `${handling ?? '?'} handled, ${waiting ?? '?'} waiting`,
    paused ? 'waits for capacity' : '',
  ];
}

function requestCells({ id, labels, created_time: created, why }: RequestLine, age: Age): string[] {
  return [id, labels.join(','), age(created), why.replace(`Request ${id} `, '')];
}

function launchCells({ id, provider, pool, labels, state_time: since, launch_error: error }: LaunchLine, age: Age) {
  return [id, `${provider ?? ''}/${pool ?? ''}`, labels.join(','), age(since), error ?? ''];
}

function errorCells({ time, provider, node, text }: ErrorLine, age: Age): string[] {
  const about = [provider, node].filter((part) => typeof part === 'string').join(' ');
  return [time === null ? '' : `${age(time)} ago`, about, text];
}

/** Aligns columns, and replaces control characters of untrusted text. */
function table(rows: readonly (readonly string[])[]): string[] {
  const clean = rows.map((row) => row.map((cell) => cell.replace(/[\p{Cc}\p{Cf}]+/gu, ' ')));
  const widths: number[] = [];
  for (const row of clean) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  return clean.map((row) => `  ${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')}`.trimEnd());
}

function cut(line: string, columns: number | undefined): string {
  if (columns === undefined || line.length <= columns) return line;
  return columns < 1 ? '' : `${line.slice(0, columns - 1)}…`;
}
