import type { Json } from '@nodepool/zk-protocol';
import { decodeLine, encodeLine } from '@nodepool/core/launcher';
import type { RunLines } from './read-history.js';
import type { ToldRun } from './timeline.js';

/** A launcher that hangs must not hold up the answer of the others for long. */
const ANSWER_MS = 2_000;

/** What one launcher answered, or why it did not. */
export interface LauncherAnswer {
  /** Address of its web server. */
  readonly url: string;
  readonly runs: readonly ToldRun[];
  readonly error: string | null;
}

/** As sent by `/api/v1/history`. */
export function runsToJson(runs: readonly (RunLines & { readonly isRunning: boolean })[]): Json[] {
  return runs.map(({ run, heardMs, isRunning, lines }) => ({
    ...{ run, heard_time: heardMs / 1000, running: isRunning, lines: lines.map((line) => encodeLine(line, 0)) },
  }));
}

/** Asks other launchers at once for what they have on record. Never rejects. */
export function askLaunchers(urls: readonly string[], id: string): Promise<LauncherAnswer[]> {
  return Promise.all(urls.map((url) => ask(url, id)));
}

async function ask(url: string, id: string): Promise<LauncherAnswer> {
  try {
    const target = new URL(`api/v1/history/${encodeURIComponent(id)}`, url.endsWith('/') ? url : `${url}/`);
    const response = await fetch(target, { signal: AbortSignal.timeout(ANSWER_MS) });
    if (!response.ok) return { url, runs: [], error: refusal(response.status) };
    return { url, runs: runsFromJson(await response.json()), error: null };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { url, runs: [], error: cause instanceof Error ? cause.message || cause.name : String(cause) };
  }
}

function refusal(status: number): string {
  return status === 404 ? 'it keeps no history: an older launcher' : `it answered with status ${status}`;
}

function runsFromJson(body: unknown): ToldRun[] {
  const { launcher, runs } = Object(body) as Record<string, unknown>;
  if (typeof launcher !== 'string' || !Array.isArray(runs))
    throw new Error('it answered something else than its history');
  return runs.map((value: unknown) => {
    const { run, heard_time: heard, running, lines } = Object(value) as Record<string, unknown>;
    const texts = Array.isArray(lines) ? lines.map(String) : [];
    return {
      ...{ launcher, run: String(run), isRunning: running === true, heardMs: Number(heard) * 1000 },
      lines: texts.flatMap((text) => decodeLine(text, 0) ?? []),
    };
  });
}
