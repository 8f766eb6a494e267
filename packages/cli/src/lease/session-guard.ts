import type { ZooKeeper } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';

/** Watches a session until told not to. */
export interface SessionGuard {
  /** Fires when the session is over, and with it every request and lock made in it. */
  readonly lost: AbortSignal;
  end(): void;
}

/** Guards the session the client has now. */
export function guardSession(zk: ZooKeeper): SessionGuard {
  const controller = new AbortController();
  const epoch = zk.sessionEpoch;
  const check = () => {
    if (zk.state !== 'LOST' && zk.sessionEpoch === epoch) return;
    controller.abort(new CliError('The session with ZooKeeper is over; request and nodes are lost. Ask again'));
  };
  const end = zk.onState(check);
  check();
  return { lost: controller.signal, end };
}
