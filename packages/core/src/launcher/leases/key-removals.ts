import {
  isZooKeeperError,
  leaseOf,
  type CancelTimer,
  type LeaseKeyHost,
  type LeaseRecord,
  type NodeId,
} from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { Context } from '../state/context.js';
import { isKeyLeft, loginId } from '../state/left-keys.js';
import { Retries } from '../state/retries.js';
import { isRefusal } from '../state/transaction.js';
import type { KeyLogins } from './key-logins.js';
import { setKeyHosts } from './lease-writes.js';
import { isOver, KEEPER_MS, type Leases } from './leases.js';

const RETRY = { firstMs: 1_000, longestMs: 60_000 };
const WRITES = 5;

/**
 * Removes the keys of lessees from hosts that live on. The record of the lease names these hosts until it is done, so any launcher
 * that serves the provider does it, also after all of them were killed. A host from which a key cannot be removed is not lent,
 * see {@link LeftKeys}.
 */
export class KeyRemovals {
  readonly #context: Context;
  readonly #leases: Leases;
  readonly #logins: KeyLogins;
  readonly #timers = new Map<string, CancelTimer>();
  readonly #retries: Retries<string>;
  readonly #busy = new Set<string>();
  readonly #unsubscribe: readonly (() => void)[];

  constructor(context: Context, leases: Leases, logins: KeyLogins) {
    this.#context = context;
    this.#leases = leases;
    this.#logins = logins;
    this.#retries = new Retries(context);
    this.#unsubscribe = [
      leases.onChange(({ id, after }) => (after ? this.consider(id) : this.#forget(id))),
      leases.onReady(() => this.sweep()),
      context.events.on('nodeChanged', ({ before }) => {
        const lease = before?.state === 'hold' ? leaseOf(before.userData) : undefined;
        if (lease !== undefined) this.consider(lease);
      }),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const cancel of this.#timers.values()) cancel();
    this.#retries.stop();
  }

  /** Looks at every lease with such hosts. */
  sweep(): void {
    for (const { id, keyHosts } of this.#leases.values()) if (keyHosts.length > 0) this.consider(id);
  }

  /** Looks at one lease; cheap if there is nothing to do. */
  consider(id: string): void {
    const { life, clock } = this.#context;
    const lease = this.#leases.get(id);
    if (!lease || lease.keyHosts.length === 0 || !life.isStarted || !life.isActive) return;
    if (this.#busy.has(id) || this.#retries.isPausing(id) || this.#due(lease).length === 0) return;
    this.#timers.get(id)?.();
    this.#timers.delete(id);
    const sinceMs = Math.max(lease.stateTimeMs, lease.keySettledTimeMs ?? 0);
    const waitMs = sinceMs + (this.#leases.isKept(lease) ? 0 : KEEPER_MS) - clock.now();
    if (waitMs > 0) {
      const again = () => this.consider(id);
      this.#timers.set(id, clock.setTimer(waitMs, again));
      return;
    }
    this.#busy.add(id);
    void this.#run(id).finally(() => {
      this.#busy.delete(id);
      this.consider(id);
    });
  }

  /** Hosts from which this launcher is to remove the key of the lease now. */
  #due(lease: LeaseRecord): LeaseKeyHost[] {
    const { mirror } = this.#context;
    return lease.keyHosts.filter(
      (host) => this.#logins.configOf(host.provider) && (isOver(lease) || isKeyLeft(host, mirror)),
    );
  }

  async #run(id: string): Promise<void> {
    const { logger } = this.#context;
    try {
      await this.#leases.settle(); // the mirror may show the lease before it shows its nodes
      const lease = this.#leases.get(id);
      if (!lease) return;
      const failures = await this.#removeFrom(lease, this.#due(lease));
      if (failures === 0) this.#retries.forget(id);
      else this.#retries.schedule(id, RETRY, () => this.consider(id));
    } catch (error) {
      if (!isRefusal(error) && !isZooKeeperError(error)) logger.error('Could not remove keys', { lease: id, error });
      this.#retries.schedule(id, RETRY, () => this.consider(id));
    }
  }

  /** @returns from how many hosts it could not be removed */
  async #removeFrom(lease: LeaseRecord, due: readonly LeaseKeyHost[]): Promise<number> {
    if (due.length === 0) return 0;
    const { logger } = this.#context;
    const used = new Set(lease.keyHosts.filter((host) => !due.includes(host)).map(loginId));
    const errors = new Map<NodeId, string | null>();
    const remove = async (host: LeaseKeyHost) => {
      const fields = { lease: lease.id, nodeId: host.nodeId, host: host.host, provider: host.provider };
      try {
        // another node of the lease on the same host needs the key; its own removal follows
        if (!used.has(loginId(host))) await this.#logins.remove(lease, host);
        errors.set(host.nodeId, null);
        logger.info('Removed the key of a lease', fields);
      } catch (error) {
        errors.set(host.nodeId, asError(error).message);
        logger.warn('Could not remove the key of a lease; its host is out of service', { ...fields, error });
      }
    };
    await Promise.all(due.map(remove));
    await this.#store(lease.id, errors);
    return [...errors.values()].filter((error) => error !== null).length;
  }

  /** Stores where the key is gone, and why it could not be removed elsewhere. */
  async #store(id: string, errors: ReadonlyMap<NodeId, string | null>): Promise<void> {
    for (let write = 1; ; write++) {
      const lease = this.#leases.get(id);
      if (!lease) return;
      const keyHosts = lease.keyHosts.flatMap((host) => {
        const error = errors.get(host.nodeId);
        if (error === null) return [];
        return error === undefined ? [host] : [{ ...host, error }];
      });
      const isSame = keyHosts.length === lease.keyHosts.length && keyHosts.every(sameErrorAs(lease.keyHosts));
      if (isSame) return;
      try {
        await setKeyHosts(this.#context, lease, keyHosts);
        return;
      } catch (error) {
        if (!isRefusal(error) || write === WRITES) throw error;
        await this.#leases.settle();
      }
    }
  }

  #forget(id: string): void {
    this.#timers.get(id)?.();
    this.#timers.delete(id);
    this.#retries.forget(id);
  }
}

const sameErrorAs = (before: readonly LeaseKeyHost[]) => (host: LeaseKeyHost, i: number) =>
  before[i]?.error === host.error;
