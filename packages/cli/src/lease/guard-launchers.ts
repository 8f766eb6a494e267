import { steadyNow, type ZooKeeper } from '@nodepool/zk-protocol';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { fetchComponents } from '../connection/fetch-records.js';

/** A request without `--timeout` waits so long for a launcher, as a lease does for a server that does not answer. */
export const NO_LAUNCHER_MS = 300_000;
const LOOK_MS = 2_000;
const ADVICE = 'Start nodepool-launcher, or see in its log why it does not run';

/** Watches whether there are launchers until `end()`. */
export interface LauncherGuard {
  /** What is missing now, and what to do; `undefined`: launchers are there. */
  missing(): string | undefined;
  /** Fires when no launcher has been seen for {@link NO_LAUNCHER_MS}. */
  readonly gone: AbortSignal;
  end(): void;
}

/** @param subject - what waits for launchers, for the error */
export function guardLaunchers({ clock, logger }: CliContext, zk: ZooKeeper, subject: string): LauncherGuard {
  const gone = new AbortController();
  let seenMs = steadyNow(clock);
  let [isHere, isLooking] = [true, false];
  const look = async (): Promise<void> => {
    isLooking = true;
    try {
      const found = await Promise.all(['launcher', 'pool'].map((kind) => fetchComponents({ zk, clock, logger }, kind)));
      isHere = found.flat().length > 0;
      if (isHere) seenMs = steadyNow(clock);
    } catch (error) {
      logger.debug('Failed to look for launchers', { error });
    }
    isLooking = false;
  };
  const missing = () => {
    const tried = `for ${Math.round((steadyNow(clock) - seenMs) / 1_000)} s, looked for every ${LOOK_MS / 1_000} s`;
    if (zk.state !== 'CONNECTED') return `ZooKeeper has not answered ${tried}. ${ADVICE}, if it brings ZooKeeper along`;
    return isHere ? undefined : `no launcher has been registered ${tried}. ${ADVICE}`;
  };
  const tick = (): void => {
    cancel = clock.setTimer(LOOK_MS, tick);
    const text = steadyNow(clock) - seenMs >= NO_LAUNCHER_MS ? missing() : undefined;
    if (text !== undefined) gone.abort(new CliError(`${subject} is not served; gave up: ${text}`));
    if (!isLooking) void look();
  };
  let cancel = clock.setTimer(LOOK_MS, tick);
  return { missing, gone: gone.signal, end: () => cancel() };
}
