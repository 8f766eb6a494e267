import type { ZooKeeper } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';

/** Watches a session until `end()`. */
export interface SessionGuard {
  /** Fires when the session ends, and with it its requests and locks. */
  readonly lost: AbortSignal;
  end(): void;
}

/** Guards the session the client has now. */
export function guardSession(zk: ZooKeeper): SessionGuard {
  const controller = new AbortController();
  const epoch = zk.sessionEpoch;
  const check = () => {
    if (zk.state !== 'LOST' && zk.sessionEpoch === epoch) return;
    controller.abort(new CliError('The ZooKeeper session expired; request and nodes are lost. Try again'));
  };
  const end = zk.onState(check);
  check();
  return { lost: controller.signal, end };
}
