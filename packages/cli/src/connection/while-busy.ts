import { delay, type Clock } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';

/** What a web server answers that has too much to do. */
const BUSY = 429;
/** At least; also when the server does not say how long. */
const PAUSE_MS = 500;

/** For how long a busy server is asked again. */
export interface Patience {
  readonly clock: Clock;
  readonly patienceMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Asks a web server, and while it is busy again: after the pause that its `Retry-After` names.
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
