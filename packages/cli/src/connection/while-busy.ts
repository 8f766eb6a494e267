import { delay, type Clock } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';

/** Status of an overloaded web server. */
const BUSY = 429;
/** Shortest pause, and the default without `Retry-After`. */
const PAUSE_MS = 500;

/** How long to retry a busy server. */
export interface Patience {
  readonly clock: Clock;
  readonly patienceMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Sends a request, and retries it while the server is busy, after the pause in its `Retry-After`.
 * @throws CliError when the pauses together would reach `patienceMs`
 */
export async function whileBusy(
  ask: () => Promise<Response>,
  { clock, patienceMs, signal }: Patience,
): Promise<Response> {
  let waitedMs = 0;
  for (let asked = 1; ; asked++) {
    const response = await ask();
    if (response.status !== BUSY) return response;
    await response.body?.cancel();
    const pauseMs = pauseOf(response.headers.get('retry-after'), clock);
    if (waitedMs + pauseMs >= patienceMs) throw new CliError(busyText(asked, waitedMs, pauseMs));
    await delay(clock, pauseMs, signal);
    waitedMs += pauseMs;
  }
}

/** @param header - seconds, or a date */
function pauseOf(header: string | null, clock: Clock): number {
  if (header === null) return PAUSE_MS;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - clock.now();
  return Number.isNaN(ms) ? PAUSE_MS : Math.max(PAUSE_MS, ms);
}

function busyText(asked: number, waitedMs: number, pauseMs: number): string {
  const often = asked === 1 ? 'once' : `${asked} times in ${Math.round(waitedMs / 1000)} s`;
  const again = `ask again in ${pauseMs < 1000 ? 'a while' : `${Math.ceil(pauseMs / 1000)} s or later`}`;
  return `it is too busy to answer (status ${BUSY}), asked ${often}: ${again}`;
}
