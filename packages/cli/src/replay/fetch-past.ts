import { basename } from 'node:path';
import { fetchService } from '@nodepool/core/service';
import { decodeLine, listHistoryFiles, readHistoryFile, type PastLine } from '@nodepool/history';
import type { Clock } from '@nodepool/zk-protocol';
import { CliError, describeError } from '../command/errors.js';
import { whileBusy } from '../connection/while-busy.js';

const ANSWER_MS = 10_000;
/** Retry a page for long: a failed attempt would read all pages again. */
const PATIENCE_MS = 60_000;

/** Time range to read. */
export interface PastRange {
  readonly sinceMs: number;
  readonly untilMs: number;
}

interface Page {
  readonly base_time: number;
  readonly lines: readonly string[];
  readonly next: string | null;
}

/** Receives the lines of histories. */
export interface PastReader {
  add(line: PastLine): void;
}

/**
 * Adds the history of a folder or of a launcher's web server.
 * @returns the number of lines that are damaged, and left out
 * @throws CliError
 */
export async function fetchPast(past: PastReader, source: string, range: PastRange, clock: Clock): Promise<number> {
  try {
    if (isUrl(source)) return await fromServer(past, source, range, clock);
    return await fromFolder(past, source, range);
  } catch (error) {
    // `fetch` says only that it failed; its cause says why
    const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
    // that of several addresses has no message
    const isMute = cause instanceof Error && cause.message === '' && 'code' in cause;
    throw new CliError(`${source}: ${isMute ? String(cause.code) : describeError(cause)}`, { cause: error });
  }
}

/** Whether a source of history is a web server. */
export function isUrl(source: string): boolean {
  return /^https?:/.test(source);
}

async function fromFolder(past: PastReader, directory: string, { sinceMs, untilMs }: PastRange): Promise<number> {
  const files = await listHistoryFiles(directory);
  if (files.length === 0) throw new CliError('there is no history in this folder: name the one of a launcher');
  let damaged = 0;
  for (const file of files) {
    if (file.beganMs > untilMs || file.modifiedMs < sinceMs) continue;
    try {
      for await (const text of readHistoryFile(file))
        damaged += addLines(past, text.toString('utf8').split('\n'), file.beganMs);
    } catch (error) {
      const why = `${basename(file.path)} cannot be read: ${describeError(error)}`;
      throw new CliError(`${why}; move it away to continue without it`, { cause: error });
    }
  }
  return damaged;
}

async function fromServer(
  past: PastReader,
  url: string,
  { sinceMs, untilMs }: PastRange,
  clock: Clock,
): Promise<number> {
  const query = new URLSearchParams({ since: String(sinceMs / 1000), until: String(untilMs / 1000) });
  let damaged = 0;
  for (let page: string | null = 'first'; page !== null;) {
    const path: string = `api/v1/history/pages/${encodeURIComponent(page)}?${query.toString()}`;
    const { base_time: base, lines, next } = await fetchPage(new URL(path, url.endsWith('/') ? url : `${url}/`), clock);
    damaged += addLines(past, lines, base * 1000);
    page = next;
  }
  return damaged;
}

async function fetchPage(target: URL, clock: Clock): Promise<Page> {
  const ask = () => fetchService(target, { signal: AbortSignal.timeout(ANSWER_MS) });
  const response = await whileBusy(ask, { clock, patienceMs: PATIENCE_MS });
  if (response.status === 404) throw new CliError('it cannot list its history: an older launcher');
  if (!response.ok) throw new CliError(`it answered with status ${response.status}`);
  const body: unknown = await response.json();
  if (!isPage(body)) throw new CliError('its answer is not a history');
  return body;
}

function isPage(value: unknown): value is Page {
  const { base_time: base, lines, next } = Object(value) as Partial<Page>;
  return typeof base === 'number' && Array.isArray(lines) && (next === null || typeof next === 'string');
}

function addLines(past: PastReader, lines: readonly string[], baseMs: number): number {
  let damaged = 0;
  for (const line of lines) {
    if (line === '') continue;
    const decoded = decodeLine(line, baseMs);
    if (decoded) past.add(decoded);
    else damaged++;
  }
  return damaged;
}
