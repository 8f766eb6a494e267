import { createHash } from 'node:crypto';
import { backoffMs, type Clock } from '@nodepool/zk-protocol';
import type { CloudAuth } from './clouds/types.js';
import { OpenStackError } from './errors.js';

/**
 * Keystone locks users out after a few wrong passwords, for half an hour by default of its documentation:
 * https://docs.openstack.org/keystone/latest/admin/configuration.html#setting-the-account-lockout-threshold
 */
const PAUSE = { firstMs: 60_000, longestMs: 1_800_000 };

/**
 * Credentials that Keystone refused, of all clouds of a process: they are tried again after a pause that grows. Corrected
 * credentials are others, and tried at once.
 */
export class RefusedLogins {
  readonly #refused = new Map<string, { failures: number; untilMs: number; error: OpenStackError }>();

  /** @throws {OpenStackError} `unauthorized`: these were refused a short while ago */
  check(auth: CloudAuth, clock: Pick<Clock, 'now'>): void {
    const known = this.#refused.get(keyOf(auth));
    const leftMs = (known?.untilMs ?? 0) - clock.now();
    if (!known || leftMs <= 0) return;
    const { error } = known;
    const hint = `no attempt for another ${Math.ceil(leftMs / 1_000)} s, so that the user is not locked out: correct clouds.yaml`;
    throw new OpenStackError('unauthorized', `${error.message}; ${hint}`, { ...error, cause: error });
  }

  /** Keystone did not accept them. */
  refused(auth: CloudAuth, error: OpenStackError, clock: Pick<Clock, 'now'>): void {
    const key = keyOf(auth);
    const failures = (this.#refused.get(key)?.failures ?? 0) + 1;
    this.#refused.set(key, { failures, error, untilMs: clock.now() + backoffMs(failures - 1, PAUSE) });
  }

  /** Keystone accepted them. */
  accepted(auth: CloudAuth): void {
    this.#refused.delete(keyOf(auth));
  }
}

function keyOf(auth: CloudAuth): string {
  return createHash('sha256').update(JSON.stringify(auth)).digest('hex');
}
