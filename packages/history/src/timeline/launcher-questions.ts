import { Allowance, fetchService } from '@nodepool/core/service';
import type { Clock, Json } from '@nodepool/zk-protocol';
import type { RunLines } from '../files/read-history.js';
import { decodeLine, encodeLine } from '../record/event.js';
import type { ToldRun } from './timeline.js';

/** Questions to all launchers. A person who opens one request after another asks less. */
const QUESTIONS = { most: 20, perSecond: 2 };
/** A hanging launcher must not delay the answers of the others for long. */
const ANSWER_MS = 2_000;
/** Most of all answers to one question together. An honest launcher has at most some 100 KB on one request or node. */
const MOST_BYTES = 2 * 1024 * 1024;
/** Launchers that are asked: registry entries are records that any program can write. */
const MOST_LAUNCHERS = 100;
/** How long an answer is reused; shorter than the refresh interval of the status page. */
const KEPT_MS = 1_000;

/** The answer of one launcher, or the reason for its absence. */
export interface LauncherAnswer {
  /** Address of its web server. */
  readonly url: string;
  readonly runs: readonly ToldRun[];
  readonly error: string | null;
}

interface Kept {
  readonly askedMs: number;
  readonly answers: Promise<LauncherAnswer[]>;
}

/**
 * Asks the other launchers for their records, at a limited rate: clients without a login must not be able to load all
 * launchers through one of them.
 */
export class LauncherQuestions {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  readonly #questions: Allowance;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#questions = new Allowance({ clock, ...QUESTIONS });
  }

  /** @returns their answers, at most a second old; `undefined` if the rate limit was reached and no launcher was asked */
  ask(urls: readonly string[], id: string): Promise<LauncherAnswer[]> | undefined {
    if (urls.length === 0) return Promise.resolve([]);
    const nowMs = this.#clock.now();
    for (const [key, { askedMs }] of this.#kept) if (nowMs - askedMs >= KEPT_MS) this.#kept.delete(key);
    const kept = this.#kept.get(id);
    if (kept) return kept.answers;
    if (this.#questions.left < 1) return undefined;
    this.#questions.spend(1);
    const answers = askLaunchers(urls, id);
    this.#kept.set(id, { askedMs: nowMs, answers });
    return answers;
  }
}

/** The form in which `/api/v1/history` sends runs. */
export function runsToJson(runs: readonly (RunLines & { readonly isRunning: boolean })[]): Json[] {
  return runs.map(({ run, heardMs, isRunning, lines }) => ({
    ...{ run, heard_time: heardMs / 1000, running: isRunning, lines: lines.map((line) => encodeLine(line, 0)) },
  }));
}

/** Asks other launchers in parallel. Never rejects. */
function askLaunchers(urls: readonly string[], id: string): Promise<LauncherAnswer[]> {
  const asked = urls.slice(0, MOST_LAUNCHERS);
  const mostBytes = Math.floor(MOST_BYTES / asked.length);
  return Promise.all(asked.map((url) => ask(url, id, mostBytes)));
}

async function ask(url: string, id: string, mostBytes: number): Promise<LauncherAnswer> {
  try {
    const target = new URL(`api/v1/history/${encodeURIComponent(id)}`, url.endsWith('/') ? url : `${url}/`);
    const response = await fetchService(target, { signal: AbortSignal.timeout(ANSWER_MS), mostBytes });
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
  if (typeof launcher !== 'string' || !Array.isArray(runs)) throw new Error('its answer is not a history');
  return runs.map((value: unknown) => {
    const { run, heard_time: heard, running, lines } = Object(value) as Record<string, unknown>;
    const texts = Array.isArray(lines) ? lines.map(String) : [];
    return {
      ...{ launcher, run: String(run), isRunning: running === true, heardMs: Number(heard) * 1000 },
      lines: texts.flatMap((text) => decodeLine(text, 0) ?? []),
    };
  });
}
