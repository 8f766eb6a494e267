import { createHash } from 'node:crypto';
import { backoffMs, steadyNow, type Clock } from '@nodepool/zk-protocol';
import type { Credentials } from './clouds/credentials.js';
import { OpenStackError } from './errors.js';

/**
 * Keystone locks users out after several wrong passwords; its documentation suggests half an hour:
 * https://docs.openstack.org/keystone/latest/admin/configuration.html#setting-the-account-lockout-threshold
 */
const PAUSE = { firstMs: 60_000, longestMs: 1_800_000 };

/**
 * Refused credentials of all clouds of a process, with a growing pause before the next attempt. Changed credentials are
 * tried at once. A change of their files ends the pause, too, because Keystone may have been corrected.
 */
export class RefusedLogins {
  readonly #refused = new Map<string, { failures: number; untilMs: number; stamp: string; error: OpenStackError }>();

  /** @throws {OpenStackError} `unauthorized`: these credentials were refused recently */
  check(credentials: Credentials, clock: Pick<Clock, 'now' | 'steadyNow'>): void {
    const known = this.#refused.get(keyOf(credentials));
    const leftMs = (known?.untilMs ?? -Infinity) - steadyNow(clock);
    if (!known || leftMs <= 0 || known.stamp !== credentials.stamp) return;
    const { error } = known;
    const hint = `no attempt for another ${Math.ceil(leftMs / 1_000)} s, so that the user is not locked out: correct clouds.yaml, which is then tried at once`;
    throw new OpenStackError('unauthorized', `${error.message}; ${hint}`, { ...error, cause: error });
  }

  /** Records a refusal. */
  refused(credentials: Credentials, error: OpenStackError, clock: Pick<Clock, 'now' | 'steadyNow'>): void {
    const key = keyOf(credentials);
    const failures = (this.#refused.get(key)?.failures ?? 0) + 1;
    const untilMs = steadyNow(clock) + backoffMs(failures - 1, PAUSE);
    this.#refused.set(key, { failures, error, untilMs, stamp: credentials.stamp });
  }

  /** Records a success. */
  accepted(credentials: Credentials): void {
    this.#refused.delete(keyOf(credentials));
  }
}

function keyOf({ auth }: Credentials): string {
  return createHash('sha256').update(JSON.stringify(auth)).digest('hex');
}
